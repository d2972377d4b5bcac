"""The recipe ``conditions``: does what a user tells answer a yes/no question, and how: two logistic regressions.

There is nothing to resume: an interrupted training starts again, and takes a minute or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.metrics.answerability import auc
from convqa.models.folder import CONDITIONS
from convqa.models.kinds.conditions import FEATURES, Settings, features
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.heads import Line
from convqa.training.base import write_head
from convqa.training.config import ConditionsSettings
from convqa.training.data.records import named_folder
from convqa.training.data.scenarios import Example, split
from convqa.training.support import logistic
from convqa.training.train import Bench, Scores

_FOLDS = 5
_USE = "Says whether what somebody tells answers a yes/no question, and how (`convqa.models.load_conditions`). English."

Rows = NDArray[np.float64]


@dataclass(slots=True)
class Work:
    """``rows`` and ``reported_rows``: the features of the examples. The lines are there once they are fitted."""

    settings: ConditionsSettings
    encoder: TextEncoder
    examples: Sequence[Example]
    rows: Rows
    reported: Sequence[Example]
    reported_rows: Rows
    lines: tuple[Line, Line] | None = field(default=None)


def setup(settings: ConditionsSettings, bench: Bench) -> Work:
    """Scenarios with their questions, as numbers.

    :raises InputError: if the data folder lacks what is needed, or if there is too little to learn from.
    """
    folder = named_folder(bench.data)
    examples, reported = split(folder, settings.own)
    for name, found in (("trains", examples), ("is reported on", reported)):
        if {one.yes for one in found} != {True, False, None}:
            raise InputError(f"{folder}: what {name} lacks questions answered yes, answered no, or left open.")
    encoder = load_encoder(settings.base)
    return Work(settings, encoder, examples, rows_of(encoder, examples), reported, rows_of(encoder, reported))


def fit(work: Work) -> None:
    """Find the weights."""
    work.lines = lines(work.rows, work.examples, work.settings.penalty)


def validate(work: Work) -> Scores:
    """How good such lines are: on addresses held out in turn (``validation``), and on ShARC's dev part."""
    assert work.lines is not None
    held = np.zeros((len(work.examples), 2))
    for chosen in folds(work.examples):
        rest = [one for one, left_out in zip(work.examples, chosen, strict=True) if not left_out]
        held[chosen] = _told(work.rows[chosen], lines(work.rows[~chosen], rest, work.settings.penalty))
    return {
        "validation": score(work.examples, held),
        "sharc-dev report": score(work.reported, _told(work.reported_rows, work.lines)),
    }


def export(work: Work, scores: Scores, target: Path) -> None:
    """Write the folder that ``load_conditions`` reads: the weights stand in its manifest."""
    assert work.lines is not None
    known, yes = work.lines
    made = Settings(
        encoder=work.settings.base, checksum=work.encoder.checksum, known=known, yes=yes,
        threshold=work.settings.threshold,
    )  # fmt: skip
    write_head(target, CONDITIONS, "A condition check", _USE, work.settings, made, work.encoder.max_tokens, scores)


def rows_of(encoder: TextEncoder, examples: Sequence[Example]) -> Rows:
    """The features, an array (examples, features)."""
    return features(encoder, [(one.told, one.question) for one in examples])


def lines(rows: Rows, examples: Sequence[Example], penalty: float) -> tuple[Line, Line]:
    """Whether a question is answered, learnt from all examples; and whether with yes, from those that are."""
    known = np.array([one.yes is not None for one in examples])
    yes = np.array([bool(one.yes) for one in examples])
    return _line(rows, known, penalty), _line(rows[known], yes[known], penalty)


def folds(examples: Sequence[Example]) -> list[NDArray[np.bool_]]:
    """Which examples are held out; every address once."""
    names = sorted({one.source for one in examples})
    found = [set(names[fold::_FOLDS]) for fold in range(min(_FOLDS, len(names)))]
    return [np.array([one.source in chosen for one in examples]) for chosen in found]


def score(examples: Sequence[Example], told: Rows) -> dict[str, float]:
    """AUC of telling answered questions from open ones, from foreign ones, and of yes from no, with its accuracy.

    :param told: known and yes, a row for each example.
    """
    known = [place for place, one in enumerate(examples) if one.yes is not None]
    found = {"answered": float(len(known))}
    for name, foreign in (("open", False), ("foreign", True)):
        some = [place for place, one in enumerate(examples) if one.yes is None and one.foreign == foreign]
        sides = [True] * len(known) + [False] * len(some)
        if known and some:
            found |= {name: float(len(some)), f"AUC {name}": auc([float(told[at, 0]) for at in (*known, *some)], sides)}
    right = [bool(examples[place].yes) for place in known]
    if len(set(right)) == 2:
        found["AUC yes"] = auc([float(told[place, 1]) for place in known], right)
    if known:
        found["accuracy"] = float(np.mean([(told[at, 1] >= 0.5) == one for at, one in zip(known, right, strict=True)]))
    return found


def _line(rows: Rows, sides: NDArray[np.bool_], penalty: float) -> Line:
    """Both sides count alike."""
    positive = float(sides.mean())
    shares = np.where(sides, 0.5 / max(positive, 1e-9), 0.5 / max(1 - positive, 1e-9))
    weights, offset = logistic(rows, sides.astype(float), shares, penalty)
    named = {name: round(float(weight), 6) for name, weight in zip(FEATURES, weights, strict=True)}
    return Line(weights=named, offset=round(offset, 6))


def _told(rows: Rows, found: tuple[Line, Line]) -> Rows:
    return np.column_stack([line.probabilities(rows, FEATURES) for line in found])
