"""The recipe ``support``: a logistic regression that says whether evidence supports a sentence, over a small encoder.

There is nothing to resume: an interrupted training starts again, and takes a minute or two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.metrics.answerability import auc
from convqa.models.folder import SUPPORT
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.heads import probabilities
from convqa.models.kinds.support import FEATURES, Settings, features, judged
from convqa.training.base import write_head
from convqa.training.config import SupportSettings
from convqa.training.data.claims import SUPPORTED, Claim, split
from convqa.training.data.records import named_folder
from convqa.training.train import Bench, Scores

_FOLDS = 5
_USE = "Says whether a text supports a sentence (`convqa.models.load_support`). English."

Rows = NDArray[np.float64]


@dataclass(slots=True)
class Work:
    """``rows``: the features of the claims that train. ``weights`` and ``offset`` are there once it is fitted."""

    settings: SupportSettings
    encoder: TextEncoder
    claims: Sequence[Claim]
    rows: Rows
    reported: Mapping[str, Sequence[Claim]]
    weights: Rows = field(default_factory=lambda: np.zeros(len(FEATURES)))
    offset: float = 0.0


def setup(settings: SupportSettings, bench: Bench) -> Work:
    """Sentences with their evidence, as numbers.

    :raises InputError: if the data folder lacks what the mix names, or if there is too little to learn from.
    """
    claims, reported = gather(bench.data)
    encoder = load_encoder(settings.base)
    return Work(settings, encoder, claims, features(encoder, _pairs(claims)), reported)


def fit(work: Work) -> None:
    """Find the weights."""
    work.weights, work.offset = logistic(work.rows, _sides(work.claims), _shares(work.claims), work.settings.penalty)


def validate(work: Work) -> Scores:
    """How good such weights are: on conversations held out in turn (``validation``), and on what is reported on."""
    held = np.zeros(len(work.claims))
    for chosen in _folds(work.claims):
        rest = [claim for claim, left_out in zip(work.claims, chosen, strict=True) if not left_out]
        weights, offset = logistic(work.rows[~chosen], _sides(rest), _shares(rest), work.settings.penalty)
        held[chosen] = judged(work.rows[chosen], weights, offset)
    scores = {"validation": score(work.claims, held.tolist())}
    for name, claims in work.reported.items():
        found = judged(features(work.encoder, _pairs(claims)), work.weights, work.offset)
        scores[f"{name} report"] = score(claims, found.tolist())
    return scores


def export(work: Work, scores: Scores, target: Path) -> None:
    """Write the folder that ``load_support`` reads: the weights stand in its manifest."""
    weights = {name: round(float(weight), 6) for name, weight in zip(FEATURES, work.weights, strict=True)}
    made = Settings(
        encoder=work.settings.base, checksum=work.encoder.checksum, weights=weights, offset=round(work.offset, 6)
    )
    write_head(target, SUPPORT, "A support check", _USE, work.settings, made, work.encoder.max_tokens, scores)


def gather(data: Path | None) -> tuple[list[Claim], Mapping[str, list[Claim]]]:
    """What trains, and what is reported on.

    :raises InputError: if no folder was named, if it lacks files, or if there is too little to learn from.
    """
    data = named_folder(data)
    claims, reported = split(data)
    conversations = {claim.conversation for claim in claims}
    if len(conversations) < 2:
        raise InputError(
            f"{data}: {len(conversations)} conversations have answers to train on; wanted at least 2, as some "
            "validate and the rest trains."
        )
    return claims, reported


def logistic(rows: Rows, sides: Rows, shares: Rows, penalty: float) -> tuple[Rows, float]:
    """Weights and offset of the logistic regression that fits best, by Newton's method.

    :param sides: 1 or 0 for each row. :param shares: how much each row counts, 1 in the mean.
    :param penalty: what a weight of 1 costs, squared, for a feature as it varies here; the offset costs nothing.

    >>> weights, offset = logistic(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.ones(2), 1.0)
    >>> weights[0] > 0, round(float(offset + weights[0] / 2), 6)
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


def score(claims: Sequence[Claim], scores: Sequence[float]) -> dict[str, float]:
    """``AUC`` and ``accuracy`` at .5, each the mean over the kinds of unsupported sentences, and the AUC of each kind.

    A kind is measured beside the supported sentences that its own were made from, so that it cannot be told by what it
    was made from, such as that there is a number in it. Both sides count alike.
    """
    found = {(claim.origin, claim.kind): one for claim, one in zip(claims, scores, strict=True)}
    kinds: dict[str, list[int]] = {}
    for origin, kind in found:
        kinds.setdefault(kind, []).append(origin)
    about = {"sentences": float(len(kinds.pop(SUPPORTED)))}
    aucs, accuracies = {}, []
    for kind, origins in kinds.items():
        right, wrong = ([found[origin, one] for origin in origins] for one in (SUPPORTED, kind))
        aucs[f"AUC {kind}"] = auc([*right, *wrong], [True] * len(right) + [False] * len(wrong))
        accuracies.append((np.mean([one >= 0.5 for one in right]) + np.mean([one < 0.5 for one in wrong])) / 2)
    return about | {"AUC": float(np.mean(list(aucs.values()))), "accuracy": float(np.mean(accuracies))} | aucs


def _folds(claims: Sequence[Claim]) -> Iterator[NDArray[np.bool_]]:
    """Which claims are held out; every conversation once."""
    names = sorted({claim.conversation for claim in claims})
    for fold in range(min(_FOLDS, len(names))):
        chosen = set(names[fold::_FOLDS])
        yield np.array([claim.conversation in chosen for claim in claims])


def _pairs(claims: Sequence[Claim]) -> list[tuple[str, str]]:
    return [(claim.evidence, claim.sentence) for claim in claims]


def _sides(claims: Sequence[Claim]) -> Rows:
    return np.array([float(claim.supported) for claim in claims])


def _shares(claims: Sequence[Claim]) -> Rows:
    """Every kind alike, and a supported sentence as much as all that was made of it; 1 in the mean."""
    counts = Counter(claim.kind for claim in claims)
    made: defaultdict[int, float] = defaultdict(float)
    for claim in claims:
        if not claim.supported:
            made[claim.origin] += 1 / counts[claim.kind]
    shares: Rows = np.array([made[claim.origin] if claim.supported else 1 / counts[claim.kind] for claim in claims])
    return shares / float(shares.mean())
