"""The shared training loop: batches by length, linear warm-up and decay, timed checkpoints, resume."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from convqa.errors import InputError
from convqa.models.export import write_model
from convqa.models.folder import ModelFolder, licence_of
from convqa.models.types import Tokenizer
from convqa.training.config import LoopSettings
from convqa.training.examples import sources
from convqa.training.train import Bench, Recipe, Scores, card, name_of, summary

log = logging.getLogger("convqa")

_POOL = 50
"""Batches in a pool of shuffled examples that is sorted by length: little padding, but a new order each epoch."""


class NetworkRecipe(Recipe):
    """Base of the recipes with a network. ``base``: the model it starts from. ``most``: maximum tokens of a sequence.
    ``use``: what it is for, as text of its card.
    """

    use: ClassVar[str]
    base: ModelFolder
    net: Any
    tokenizer: Tokenizer
    most: int

    def card(self, scores: Scores) -> str:
        about, licence = sources(self.bench.data), licence_of(self.base.path)
        return card(f"A {self.settings.recipe}", self.settings, summary(scores), self.use, about, licence)

    def write(self, folder: Path, settings: dict[str, Any], text: str = "", precision: str = "int8") -> None:
        """Write the network for ONNX Runtime. :param settings: fields of this kind of model. :param text: its card."""
        about = {
            "kind": self.settings.recipe, "name": folder.name, "precision": precision, "max_tokens": self.most,
            "base": name_of(self.settings.base), "licence": licence_of(self.base.path), "settings": settings,
        }  # fmt: skip
        write_model(folder, self.net, self.tokenizer, about, text)


def fit(
    model: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Sequence[int]], Tensor],
    settings: LoopSettings,
    bench: Bench,
    is_head: Callable[[str], bool] = lambda _: False,
) -> None:
    """Train until all steps are done, resuming from the checkpoint in the training's folder if there is one.

    A resumed training ends in the same parameters as an uninterrupted one (on the same machine; tested with one
    thread).

    :param lengths: tokens of each example. :param loss: returns the loss of the examples with these indices.
    :param is_head: whether the parameter of this name learns ``settings.head`` times faster.
    """
    batches = [batch for epoch in range(math.ceil(settings.epochs)) for batch in batches_of(lengths, settings, epoch)]
    batches = batches[: settings.steps(len(lengths))]
    optimizer = torch.optim.AdamW(_groups(model, settings, is_head), lr=settings.rate, weight_decay=settings.decay)
    torch.manual_seed(settings.seed)
    checkpoint = _Checkpoint(bench.folder / "checkpoint.pt", model, optimizer, len(batches))
    done = checkpoint.load()
    model.train()
    saved = logged = time.monotonic()
    seen, mean = 0, checkpoint.loss
    for step in range(done, len(batches)):
        slope = _slope(step / len(batches), settings.warmup)
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * group["factor"] * slope
        value = loss(batches[step])
        value.backward()  # type: ignore[no-untyped-call,unused-ignore]
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seen += len(batches[step])
        mean = 0.98 * mean + 0.02 * value.item() if mean else value.item()
        now, last = time.monotonic(), step + 1 == len(batches)
        if now - logged > 15 or last:
            log.info("step %d of %d, loss %.3f, %.1f examples/s", step + 1, len(batches), mean, seen / (now - logged))
            logged, seen = now, 0
        if now - saved > settings.checkpoint or last:
            checkpoint.save(step + 1, mean)
            saved = now
        if bench.progress:
            bench.progress(step + 1, len(batches), mean)
    model.eval()


def batches_of(lengths: Sequence[int], settings: LoopSettings, epoch: int) -> list[list[int]]:
    """Return the indices of all examples in batches of similar length, shuffled by seed and epoch."""
    chance = random.Random(settings.seed * 1_000 + epoch)
    order = list(range(len(lengths)))
    chance.shuffle(order)
    pool = settings.batch * _POOL
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        similar = sorted(order[start : start + pool], key=lambda index: lengths[index])
        batches.extend(similar[first : first + settings.batch] for first in range(0, len(similar), settings.batch))
    chance.shuffle(batches)
    return batches


def padded(rows: Sequence[Sequence[int]], fill: int, device: str) -> Tensor:
    """Return a tensor (n, longest) with each row padded with ``fill``."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)


def mask_of(rows: Sequence[Sequence[object]], device: str) -> Tensor:
    """Return a tensor (n, longest) with 1 for the items of a row and 0 for its padding."""
    return padded([[1] * len(row) for row in rows], 0, device)


def _groups(model: nn.Module, settings: LoopSettings, is_head: Callable[[str], bool]) -> list[dict[str, object]]:
    learning = [(is_head(name), value) for name, value in model.named_parameters() if value.requires_grad]
    trunk, head = ([value for of_head, value in learning if of_head == wanted] for wanted in (False, True))
    groups: list[dict[str, object]] = [{"params": trunk, "factor": 1.0}]
    return [*groups, {"params": head, "factor": settings.head}] if head else groups


def _slope(part: float, warmup: float) -> float:
    return part / warmup if part < warmup else (1.0 - part) / (1.0 - warmup)


class _Checkpoint:
    """Model, optimizer and random state after a step, in a file that is written atomically."""

    def __init__(self, path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
        self._path, self._model, self._optimizer, self._steps = path, model, optimizer, steps
        self.loss = 0.0

    def save(self, step: int, loss: float) -> None:
        state = {
            "model": self._model.state_dict(), "optimizer": self._optimizer.state_dict(), "step": step,
            "of": self._steps, "loss": loss, "chance": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all(),
        }  # fmt: skip
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        torch.save(state, fresh)
        fresh.replace(self._path)

    def load(self) -> int:
        """Restore the checkpoint and return the number of steps done, 0 without a checkpoint."""
        if not self._path.exists():
            return 0
        # Loads to the CPU first, because the device may have changed.
        state = torch.load(self._path, map_location="cpu", weights_only=True)
        if state["of"] != self._steps:
            raise InputError(
                f"{self._path} belongs to a training of {state['of']} steps, but this one has {self._steps}: the data "
                "or the settings have changed. Choose another output folder, or remove the checkpoint."
            )
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["chance"])
        if len(state["cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state["cuda"])
        self.loss = state["loss"]
        log.info("resuming at step %d of %d", state["step"], state["of"])
        return int(state["step"])
