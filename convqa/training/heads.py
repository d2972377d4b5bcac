"""Logistic regressions over features of a small encoder, which the recipe ``conditions`` fits.

Such a recipe does not resume: an interrupted training takes a minute or two and starts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.models.kinds.heads import LogisticRegression, Rows, probabilities

_FOLDS = 5


def logistic(
    rows: Rows,
    sides: Rows,
    shares: Rows,
    penalty: float,
) -> tuple[Rows, float]:
    """Fit a logistic regression by Newton's method and return its weights and offset.

    :param sides: target of each row, 0 to 1. :param shares: weight of each row, 1 on average.
    :param penalty: L2 penalty on the weights of standardized features; the offset is free.

    >>> weights, offset = logistic(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.ones(2), 1.0)
    >>> bool(weights[0] > 0), round(float(offset + weights[0] / 2), 6)
    (True, 0.0)
    """
    means = rows.mean(axis=0)
    deviations = rows.std(axis=0)
    deviations[deviations < 1e-9] = 1.0
    inputs = np.column_stack([(rows - means) / deviations, np.ones(len(rows))])
    costs = np.full(inputs.shape[1], penalty)
    costs[-1] = 0.0
    line = np.zeros(inputs.shape[1])
    for _ in range(100):
        predicted = probabilities(inputs, line, 0.0)
        gradient = inputs.T @ (shares * (predicted - sides)) + costs * line
        variances = shares * predicted * (1 - predicted)
        hessian = (inputs * variances[:, None]).T @ inputs + np.diag(costs + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        largest = float(np.abs(step).max())
        # Limits the step, because Newton's method overshoots far from the optimum.
        line -= step * min(1.0, 5.0 / max(largest, 1e-12))
        if largest < 1e-9:
            break
    weights = line[:-1] / deviations
    return weights, float(line[-1] - weights @ means)


def fitted(
    features: Sequence[str],
    rows: Rows,
    sides: Rows,
    shares: Rows,
    penalty: float,
) -> LogisticRegression:
    """Fit a logistic regression of these features, rounded as in a manifest."""
    weights, offset = logistic(rows, sides, shares, penalty)
    rounded = {}
    for name, weight in zip(features, weights, strict=True):
        rounded[name] = round(float(weight), 6)
    return LogisticRegression(weights=rounded, offset=round(offset, 6))


def folds(groups: Sequence[Any]) -> list[NDArray[np.bool_]]:
    """Return a mask of the held-out examples per fold; each group is held out once, as a whole."""
    names = sorted(set(groups))
    masks = []
    for fold in range(min(_FOLDS, len(names))):
        held_out = set(names[fold::_FOLDS])
        masks.append(np.array([group in held_out for group in groups]))
    return masks
