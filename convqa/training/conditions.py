"""The recipe ``conditions``: whether what a user says answers a yes/no question, and how. Two logistic regressions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.metrics.answerability import auc
from convqa.models.kinds.conditions import FEATURES, features
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.heads import Line, Rows
from convqa.training.config import ConditionsSettings
from convqa.training.data.records import named_folder
from convqa.training.data.scenarios import Example, split
from convqa.training.heads import folds, logistic, named, write_head
from convqa.training.train import Bench, Recipe, Scores

_USE = "Says whether what somebody tells answers a yes/no question, and how (`convqa.models.load_conditions`). English."


class Training(Recipe):
    """Scenarios with their questions, as numbers; ``lines`` are there once they are fitted."""

    settings: ConditionsSettings

    def __init__(self, settings: ConditionsSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        folder = named_folder(bench.data)
        self.examples, self.reported = split(folder, settings.own)
        for name, found in (("trains", self.examples), ("is reported on", self.reported)):
            if {one.yes for one in found} != {True, False, None}:
                raise InputError(f"{folder}: what {name} lacks questions answered yes, answered no, or left open.")
        self.encoder = load_encoder(settings.base)
        self.rows = rows_of(self.encoder, self.examples)

    def fit(self) -> None:
        """Find the weights."""
        self.lines = lines(self.rows, self.examples, self.settings.penalty)

    def validate(self) -> Scores:
        """How good such lines are: on addresses held out in turn (``validation``), and on ShARC's dev part."""
        held = np.zeros((len(self.examples), 2))
        for chosen in folds([one.source for one in self.examples]):
            rest = [one for one, left_out in zip(self.examples, chosen, strict=True) if not left_out]
            held[chosen] = _told(self.rows[chosen], lines(self.rows[~chosen], rest, self.settings.penalty))
        reported = _told(rows_of(self.encoder, self.reported), self.lines)
        return {"validation": score(self.examples, held), "sharc-dev report": score(self.reported, reported)}

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_conditions`` reads: the weights are in its manifest."""
        write(target, self.settings, self.encoder, self.lines, scores)


def write(
    target: Path, settings: ConditionsSettings, encoder: TextEncoder, found: tuple[Line, Line], scores: Scores
) -> None:
    """Write a condition check's folder."""
    known, yes = (line.model_dump(mode="json") for line in found)
    learnt = {"known": known, "yes": yes, "threshold": settings.threshold}
    write_head(target, "A condition check", _USE, settings, encoder, learnt, scores)


def rows_of(encoder: TextEncoder, examples: Sequence[Example]) -> Rows:
    """The features, an array (examples, features)."""
    return features(encoder, [(one.told, one.question) for one in examples])


def lines(rows: Rows, examples: Sequence[Example], penalty: float) -> tuple[Line, Line]:
    """Whether a question is answered, learnt from all examples; and whether with yes, from those that are."""
    known = np.array([one.yes is not None for one in examples])
    yes = np.array([bool(one.yes) for one in examples])
    return _line(rows, known, penalty), _line(rows[known], yes[known], penalty)


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
    return Line(**named(FEATURES, *logistic(rows, sides.astype(float), shares, penalty)))


def _told(rows: Rows, found: tuple[Line, Line]) -> Rows:
    return np.column_stack([line.probabilities(rows, FEATURES) for line in found])
