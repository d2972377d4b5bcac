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
from convqa.models.engines.torch.runtime import mask_of, padded
from convqa.models.export import write_model
from convqa.models.folder import ModelFolder, licence_of
from convqa.models.types import Tokenizer
from convqa.training.config import LoopSettings
from convqa.training.examples import TRAIN, files, sources
from convqa.training.train import Bench, Recipe, Scores, card, name_of

log = logging.getLogger("convqa")

_WARMUP = 0.06
"""Share of the steps in which the learning rate rises."""

_MAX_GRADIENT_NORM = 1.0
_WEIGHT_DECAY = 0.01

_HEAD_FACTOR = 5.0
"""Factor on the learning rate of heads."""

_BATCHES_PER_POOL = 50
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

    def outputs(
        self,
        ids: Sequence[Sequence[int]],
        types: Sequence[Sequence[int]],
    ) -> tuple[Tensor, ...]:
        """Run the network on a batch of sequences and return its outputs in float32."""
        device = self.bench.device
        inputs = padded(ids, 0, device), mask_of(ids, device), padded(types, 0, device)
        with torch.autocast(device, torch.bfloat16, enabled=self.bench.precision == "bfloat16"):
            outputs = self.net(*inputs)
        return tuple(output.float() for output in outputs)

    def card(self, scores: Scores) -> str:
        return card(
            f"A {self.settings.recipe}",
            self.settings,
            scores,
            self.use,
            sources(self.bench.data),
            licence_of(self.base.path),
        )

    def write(
        self,
        folder: Path,
        settings: dict[str, Any],
        text: str = "",
        precision: str = "int8",
    ) -> None:
        """Write the network for ONNX Runtime. :param settings: fields of this kind of model. :param text: its card."""
        about = {
            "kind": self.settings.recipe,
            "name": folder.name,
            "precision": precision,
            "max_tokens": self.most,
            "base": name_of(self.settings.base),
            "licence": licence_of(self.base.path),
            "settings": settings,
        }
        write_model(
            folder,
            self.net,
            self.tokenizer,
            about,
            text,
        )


def fit(
    model: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Sequence[int]], Tensor],
    settings: LoopSettings,
    bench: Bench,
    is_head: Callable[[str], bool] = lambda _: False,
) -> None:
    """Train until all steps are done, resuming from the checkpoint in the training's folder if there is one.

    A resumed training ends in the same parameters as an uninterrupted one (on the same CPU; tested with one thread).

    :param lengths: tokens of each example. :param loss: returns the loss of the examples with these indices.
    :param is_head: whether the parameter of this name learns ``_HEAD_FACTOR`` times faster.
    """
    steps = settings.steps(len(lengths))
    batches: list[list[int]] = []
    for epoch in range(math.ceil(settings.epochs)):
        batches += batches_of(lengths, settings, epoch)
    optimizer = torch.optim.AdamW(
        _groups(model, is_head),
        lr=settings.rate,
        weight_decay=_WEIGHT_DECAY,
    )
    torch.manual_seed(settings.seed)
    checkpoint = Checkpoint(model, optimizer, settings, bench)
    done, mean = checkpoint.load()
    model.train()
    saved = time.monotonic()
    for step in range(done, steps):
        slope = _slope(step / steps)
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * group["factor"] * slope
        value = loss(batches[step])
        value.backward()  # type: ignore[no-untyped-call,unused-ignore]
        nn.utils.clip_grad_norm_(model.parameters(), _MAX_GRADIENT_NORM)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mean = 0.98 * mean + 0.02 * value.item() if mean else value.item()
        now = time.monotonic()
        if now - saved > settings.checkpoint or step + 1 == steps:
            checkpoint.save(step + 1, mean)
            saved = now
        if bench.progress:
            bench.progress(step + 1, steps, mean)
    model.eval()


def batches_of(
    lengths: Sequence[int],
    settings: LoopSettings,
    epoch: int,
) -> list[list[int]]:
    """Return the indices of all examples in batches of similar length, shuffled by seed and epoch."""
    chance = random.Random(settings.seed * 1_000 + epoch)
    order = list(range(len(lengths)))
    chance.shuffle(order)
    pool = settings.batch * _BATCHES_PER_POOL
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        similar = sorted(order[start : start + pool], key=lambda index: lengths[index])
        while similar:
            batches.append(similar[: settings.batch])
            similar = similar[settings.batch :]
    chance.shuffle(batches)
    return batches


def _groups(model: nn.Module, is_head: Callable[[str], bool]) -> list[dict[str, Any]]:
    trunk: dict[str, Any] = {"params": [], "factor": 1.0}
    head: dict[str, Any] = {"params": [], "factor": _HEAD_FACTOR}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            group = head if is_head(name) else trunk
            group["params"].append(parameter)
    return [trunk, head] if head["params"] else [trunk]


def _slope(part: float) -> float:
    """Return the learning rate after a part of the steps, as a share of its peak."""
    return part / _WARMUP if part < _WARMUP else (1.0 - part) / (1.0 - _WARMUP)


class Checkpoint:
    """Model, optimizer and random state after a step, in a file that is written atomically.

    It belongs to one training: to its settings, and to training files of these sizes.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: LoopSettings,
        bench: Bench,
    ) -> None:
        self._path = bench.folder / "checkpoint.pt"
        self._model = model
        self._optimizer = optimizer
        self._training = settings.model_dump(mode="json", exclude={"checkpoint"})
        paths = files(bench.data, TRAIN).values()
        self._training["examples"] = {path.name: path.stat().st_size for path in paths}

    def save(self, step: int, loss: float) -> None:
        state = {
            "training": self._training,
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "step": step,
            "loss": loss,
            "chance": torch.get_rng_state(),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        torch.save(state, new)
        new.replace(self._path)

    def load(self) -> tuple[int, float]:
        """Restore the checkpoint and return the number of steps done and the mean loss; zeros without a checkpoint."""
        if not self._path.exists():
            return 0, 0.0
        # Loads to the CPU first, because the device may have changed.
        state = torch.load(
            self._path,
            map_location="cpu",
            weights_only=True,
        )
        if state.get("training") != self._training:
            raise InputError(
                f"{self._path} belongs to another training: settings or training files differ. Choose another --output."
            )
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["chance"])
        log.info("resuming at step %d", state["step"])
        return state["step"], state["loss"]
