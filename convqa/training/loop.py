"""The loop that all recipes share: batches by length, a warm-up and a linear fall, checkpoints by time, resume."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from convqa.errors import InputError

log = logging.getLogger("convqa")

Progress = Callable[[int, int, float], None]
"""Told after every step: steps done, steps in all, the loss (a running mean)."""

_POOL = 50
"""Batches that are filled from examples of like length together: little padding, and still another order each time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how fast to learn. ``rate`` is the peak; ``checkpoint`` seconds between two checkpoints."""

    epochs: float
    batch: int = 32
    rate: float = 1.5e-4
    warmup: float = 0.06
    seed: int = 1
    checkpoint: float = 120.0
    clip: float = 1.0
    decay: float = 0.01

    def steps(self, examples: int) -> int:
        """How many batches so many examples make in all epochs; the last epoch may be a part of one.

        :raises InputError: if they are too few to learn from.
        """
        steps = round(math.ceil(examples / self.batch) * self.epochs)
        # The rate of the first step is 0 where there is a warm-up.
        if steps < 2:
            raise InputError(
                f"{examples} examples in batches of {self.batch}, {self.epochs:g} times (epochs), make {steps} steps, "
                "which teach nothing; wanted at least 2. Add examples, raise epochs or lower batch."
            )
        return steps


def fit(
    model: nn.Module,
    lengths: Sequence[int],
    loss: Callable[[Sequence[int]], Tensor],
    plan: Plan,
    folder: Path,
    groups: Sequence[dict[str, Any]] | None = None,
    progress: Progress | None = None,
) -> None:
    """Train until the plan is done; goes on from the checkpoint in ``folder`` if there is one.

    An interrupted training that goes on ends in the same parameters as one that was not (on the same machine; tested
    with one thread).

    :param lengths: tokens of each example; :param loss: of the examples with these numbers, to be lowered.
    :param groups: parameter groups with a ``factor`` of the learning rate; None: all alike.
    :raises InputError: if the checkpoint is of another training, or if the plan has too few steps.
    """
    batches = _batches(lengths, plan)
    chosen = groups or [{"params": [p for p in model.parameters() if p.requires_grad], "factor": 1.0}]
    optimizer = torch.optim.AdamW(chosen, lr=plan.rate, weight_decay=plan.decay)
    torch.manual_seed(plan.seed)
    checkpoint = _Checkpoint(folder / "checkpoint.pt", model, optimizer, len(batches))
    done = checkpoint.load()
    model.train()
    saved = told = time.monotonic()
    seen, mean = 0, checkpoint.loss
    for step in range(done, len(batches)):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate * group.get("factor", 1.0) * _slope(step / len(batches), plan.warmup)
        value = _learn(model, optimizer, loss(batches[step]), plan.clip)
        seen += len(batches[step])
        mean = value if not mean else 0.98 * mean + 0.02 * value
        now, last = time.monotonic(), step + 1 == len(batches)
        if now - told > 15 or last:
            log.info("step %d of %d, loss %.3f, %.1f examples/s", step + 1, len(batches), mean, seen / (now - told))
            told, seen = now, 0
        if now - saved > plan.checkpoint or last:
            checkpoint.save(step + 1, mean)
            saved = now
        if progress:
            progress(step + 1, len(batches), mean)
    model.eval()


def batches_of(lengths: Sequence[int], plan: Plan, epoch: int) -> list[list[int]]:
    """The numbers of all examples in batches of like length, in an order that seed and epoch decide."""
    chance = random.Random(plan.seed * 1_000 + epoch)
    order = list(range(len(lengths)))
    chance.shuffle(order)
    pool = plan.batch * _POOL
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        near = sorted(order[start : start + pool], key=lambda index: lengths[index])
        batches.extend(near[at : at + plan.batch] for at in range(0, len(near), plan.batch))
    chance.shuffle(batches)
    return batches


def _batches(lengths: Sequence[int], plan: Plan) -> list[list[int]]:
    """Those of all epochs."""
    batches = [one for epoch in range(math.ceil(plan.epochs)) for one in batches_of(lengths, plan, epoch)]
    return batches[: plan.steps(len(lengths))]


def _learn(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor, clip: float) -> float:
    """One step against the loss; returns the loss."""
    loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.item())


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
