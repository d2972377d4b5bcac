"""The shared training loop: batches by length, linear warm-up and decay."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from convqa.training.config import Settings

_WARMUP = 0.06
"""Share of the steps in which the learning rate rises."""

_MAX_GRADIENT_NORM = 1.0
_WEIGHT_DECAY = 0.01

_HEAD_FACTOR = 5.0
"""Factor on the learning rate of heads."""

_BATCHES_PER_POOL = 50
"""Batches in a pool of shuffled examples that is sorted by length: little padding, but a new order each epoch."""


Progress = Callable[[int, int, float], None]
"""Called after every step with steps done, total steps, and the running mean of the loss."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how to train. ``folder`` receives the model; ``data`` holds the examples."""

    folder: Path
    data: Path
    device: str = "cpu"
    precision: str = "float32"
    progress: Progress | None = None


def fit(
    model: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Sequence[int]], Tensor],
    settings: Settings,
    bench: Bench,
    is_head: Callable[[str], bool] = lambda _: False,
) -> None:
    """Train until all steps are done.

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
    mean = 0.0
    model.train()
    for step in range(steps):
        slope = _slope(step / steps)
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * group["factor"] * slope
        value = loss(batches[step])
        value.backward()  # type: ignore[no-untyped-call,unused-ignore]
        nn.utils.clip_grad_norm_(model.parameters(), _MAX_GRADIENT_NORM)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mean = 0.98 * mean + 0.02 * value.item() if mean else value.item()
        if bench.progress:
            bench.progress(step + 1, steps, mean)
    model.eval()


def batches_of(
    lengths: Sequence[int],
    settings: Settings,
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
