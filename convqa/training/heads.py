"""The base of the recipes ``support`` and ``conditions``: logistic regressions over the features of a small encoder.

There is nothing to resume: an interrupted training starts again, and takes a minute or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.models.folder import CARD, licence_of, write_folder
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.kinds.heads import Rows, probabilities
from convqa.models.source import find_model
from convqa.training.card import card, name_of
from convqa.training.config import Settings
from convqa.training.train import Scores, summary

_FOLDS = 5


def logistic(rows: Rows, sides: Rows, shares: Rows, penalty: float) -> tuple[Rows, float]:
    """Weights and offset of the logistic regression that fits best, by Newton's method.

    :param sides: 0 to 1 for each row. :param shares: how much each row counts, 1 in the mean.
    :param penalty: what a weight of 1 costs, squared, for a feature as it varies here; the offset costs nothing.

    >>> weights, offset = logistic(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.ones(2), 1.0)
    >>> bool(weights[0] > 0), round(float(offset + weights[0] / 2), 6)
    (True, 0.0)
    """
    means, deviations = rows.mean(axis=0), rows.std(axis=0)
    deviations[deviations < 1e-9] = 1.0
    given = np.column_stack([(rows - means) / deviations, np.ones(len(rows))])
    costs = np.full(given.shape[1], penalty)
    costs[-1] = 0.0
    line = np.zeros(given.shape[1])
    for _ in range(100):
        made = probabilities(given, line, 0.0)
        slope = given.T @ (shares * (made - sides)) + costs * line
        curve = (given * (shares * made * (1 - made))[:, None]).T @ given + np.diag(costs + 1e-9)
        step = np.linalg.solve(curve, slope)
        # A cautious step: far from the goal Newton's would leap over it.
        line -= step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-9:
            break
    weights = line[:-1] / deviations
    return weights, float(line[-1] - weights @ means)


def named(features: Sequence[str], weights: Rows, offset: float) -> dict[str, Any]:
    """Weights and offset as a manifest has them."""
    rounded = {name: round(float(weight), 6) for name, weight in zip(features, weights, strict=True)}
    return {"weights": rounded, "offset": round(offset, 6)}


def folds(groups: Sequence[Any]) -> list[NDArray[np.bool_]]:
    """Which examples are held out, by the group of each; every group once."""
    names = sorted(set(groups))
    chosen = [set(names[fold::_FOLDS]) for fold in range(min(_FOLDS, len(names)))]
    return [np.array([group in some for group in groups]) for some in chosen]


def write_head(
    target: Path, title: str, use: str, settings: Settings, encoder: TextEncoder, learnt: dict[str, Any],
    scores: Scores,
) -> None:  # fmt: skip
    """Write the folder of a head over the encoder ``settings.base``: what it learnt is in its manifest."""
    base = find_model(settings.base)
    licence = base.manifest.licence if base.manifest else licence_of(base.path)
    about = {
        "kind": settings.recipe, "name": settings.recipe, "max_tokens": encoder.max_tokens, "licence": licence,
        "base": name_of(settings.base),
        "settings": {"encoder": settings.base, "checksum": encoder.checksum, **learnt},
    }  # fmt: skip
    write_folder(target, about, {CARD: card(title, settings, summary(scores), use, licence).encode()})
