"""Scores as probabilities: the logistic curve that fits held-out ones (Platt, 1999)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional


def logistic(scores: Sequence[float], wanted: Sequence[float]) -> tuple[float, float]:
    """Slope and offset of the curve sigmoid(slope x score + offset) that fits best.

    :param wanted: 0 to 1 for each score: whether it was right, or how far. As Platt has it, they are taken a little
        nearer to each other, so that the curve stays finite where the scores part them wholly.

    >>> slope, offset = logistic([-2.0, -1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0])
    >>> slope > 0, abs(offset) < 0.01
    (True, True)
    """
    least = 1 / (len(scores) + 2)
    values = torch.tensor(scores, dtype=torch.float64)
    targets = torch.tensor(wanted, dtype=torch.float64).clamp(least, 1 - least)
    line = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([line], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        value = functional.binary_cross_entropy_with_logits(line[0] * values + line[1], targets)
        value.backward()  # type: ignore[no-untyped-call,unused-ignore]
        return value

    search.step(loss)  # type: ignore[no-untyped-call,unused-ignore]
    slope, offset = line.tolist()
    return slope, offset
