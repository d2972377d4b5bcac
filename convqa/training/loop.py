"""The loop that recipes share: batches by length, a warm-up and a linear fall, checkpoints by time, resume."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from convqa.errors import InputError
from convqa.training.config import LoopSettings
from convqa.training.train import Bench

log = logging.getLogger("convqa")

_POOL = 50
"""Batches that are filled from examples of like length together: little padding, and still another order each time."""


def fit(
    model: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Sequence[int]], Tensor],
    settings: LoopSettings,
    bench: Bench,
    is_head: Callable[[str], bool] = lambda _: False,
) -> None:
    """Train until all steps are done; goes on from the checkpoint in the training's folder if there is one.

    An interrupted training that goes on ends in the same parameters as one that was not (on the same machine; tested
    with one thread).

    :param lengths: tokens of each example. :param loss: of the examples with these numbers, to be lowered.
    :param is_head: whether a parameter, by its name, learns ``settings.head`` times faster.
    """
    batches = [one for epoch in range(math.ceil(settings.epochs)) for one in batches_of(lengths, settings, epoch)]
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
    """The numbers of all examples in batches of like length, in an order that seed and epoch decide."""
    chance = random.Random(settings.seed * 1_000 + epoch)
    order = list(range(len(lengths)))
    chance.shuffle(order)
    pool = settings.batch * _POOL
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        near = sorted(order[start : start + pool], key=lambda index: lengths[index])
        batches.extend(near[at : at + settings.batch] for at in range(0, len(near), settings.batch))
    chance.shuffle(batches)
    return batches


def padded(rows: Sequence[Sequence[int]], fill: int, device: str) -> Tensor:
    """(n, longest), each row followed by ``fill``."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)


def mask_of(rows: Sequence[Sequence[object]], device: str) -> Tensor:
    """(n, longest): 1 for what a row has, 0 for its padding."""
    return padded([[1] * len(row) for row in rows], 0, device)


def _groups(model: nn.Module, settings: LoopSettings, is_head: Callable[[str], bool]) -> list[dict[str, object]]:
    learning = [(is_head(name), value) for name, value in model.named_parameters() if value.requires_grad]
    trunk, head = ([value for of_head, value in learning if of_head == wanted] for wanted in (False, True))
    groups: list[dict[str, object]] = [{"params": trunk, "factor": 1.0}]
    return [*groups, {"params": head, "factor": settings.head}] if head else groups


def _slope(part: float, warmup: float) -> float:
    return part / warmup if part < warmup else (1.0 - part) / (1.0 - warmup)


class _Checkpoint:
    """Model, optimizer and the state of chance (dropout) after a step, in one file that appears whole or not at all."""

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
        """Go back to the checkpoint; the number of steps that are done, 0 without one."""
        if not self._path.exists():
            return 0
        # On the CPU first: a training may go on on another device.
        state = torch.load(self._path, map_location="cpu", weights_only=True)
        if state["of"] != self._steps:
            raise InputError(
                f"{self._path} is of a training of {state['of']} steps; this one has {self._steps}: the data or the "
                "settings are others. Choose another output folder, or remove the checkpoint."
            )
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["chance"])
        if len(state["cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state["cuda"])
        self.loss = state["loss"]
        log.info("going on at step %d of %d", state["step"], state["of"])
        return int(state["step"])
