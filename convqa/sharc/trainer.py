"""The recipe ``conditions``: two logistic regressions for whether a text answers a yes/no question, and how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.metrics.answerability import auc
from convqa.models.folder import CARD, licence_of, write_folder
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.heads import LogisticRegression, Rows
from convqa.models.source import find_model
from convqa.sharc.judge import FEATURES, features
from convqa.training.config import Settings, Share
from convqa.training.examples import (
    REPORT,
    files,
    read,
    sources,
    training_files,
)
from convqa.training.heads import fitted, folds
from convqa.training.train import Bench, Recipe, Scores, card, name_of
from convqa.validation import Record

_PENALTY = 10.0
"""Weight of the L2 penalty, in examples."""

_USE = "Predicts whether a text answers a yes/no question, and how (`convqa.sharc.judge.load_conditions`). English."


class ConditionsSettings(Settings):
    """``threshold``: minimum probability that a text answers a question for the question not to be asked."""

    recipe: Literal["conditions"]
    threshold: Share = 0.6


class ConditionExample(Record, extra="forbid"):
    """A question and the text ``told``. ``yes``: the answer in that text, None if it leaves the question open.

    ``source``: the unit of splits. ``foreign``: whether the question is about another subject than the text.
    """

    told: str
    question: str
    yes: bool | None
    source: str
    foreign: bool = False


class Training(Recipe):
    """Scenarios and questions as feature vectors; ``fit`` sets ``lines``."""

    settings: ConditionsSettings

    def __init__(self, settings: ConditionsSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        self.examples = [example for path in training_files(bench.data) for example in read(path, ConditionExample)]
        self.reported = {}
        for label, path in files(bench.data, REPORT).items():
            self.reported[label] = read(path, ConditionExample)
        if {example.yes for example in self.examples} != {True, False, None}:
            raise InputError(
                f"{bench.data}: expected training questions answered yes (true), answered no (false), and left open "
                "(null)."
            )
        self.encoder = load_encoder(settings.base)
        self.rows = rows_of(self.encoder, self.examples)

    def fit(self) -> None:
        """Fit the weights."""
        self.lines = lines(self.rows, self.examples)

    def validate(self) -> Scores:
        """Score on held-out sources by cross-validation (``validation``), and on the report sets."""
        held_out = np.zeros((len(self.examples), 2))
        for chosen in folds([example.source for example in self.examples]):
            rest = [self.examples[index] for index in np.flatnonzero(~chosen)]
            fold_lines = lines(self.rows[~chosen], rest)
            held_out[chosen] = _probabilities(self.rows[chosen], fold_lines)
        scores = {"validation": score(self.examples, held_out)}
        for label, examples in self.reported.items():
            scores[label] = score(
                examples,
                _probabilities(rows_of(self.encoder, examples), self.lines),
            )
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_conditions`` reads, with the weights in its manifest."""
        write(
            target,
            self.settings,
            self.encoder,
            self.lines,
            scores,
            sources(self.bench.data),
        )


def write(
    target: Path,
    settings: ConditionsSettings,
    encoder: TextEncoder,
    lines: tuple[LogisticRegression, LogisticRegression],
    scores: Scores,
    about: str = "",
) -> None:
    """Write the folder of a condition check. ``about``: the sources of its examples."""
    known, yes = (line.model_dump(mode="json") for line in lines)
    learned = {"known": known, "yes": yes, "threshold": settings.threshold}
    base = find_model(settings.base)
    licence = base.manifest.licence if base.manifest else licence_of(base.path)
    manifest = {
        "kind": settings.recipe,
        "name": settings.recipe,
        "max_tokens": encoder.max_tokens,
        "licence": licence,
        "base": name_of(settings.base),
        "settings": {"encoder": settings.base, "checksum": encoder.checksum, **learned},
    }
    text = card("A condition check", settings, scores, _USE, about, licence)
    write_folder(target, manifest, {CARD: text.encode()})


def rows_of(encoder: TextEncoder, examples: Sequence[ConditionExample]) -> Rows:
    """Return the features, an array (examples, features)."""
    return features(encoder, [(example.told, example.question) for example in examples])


def lines(rows: Rows, examples: Sequence[ConditionExample]) -> tuple[LogisticRegression, LogisticRegression]:
    """Fit whether a question is answered, on all examples, and whether with yes, on the answered ones."""
    known = np.array([example.yes is not None for example in examples])
    yes = np.array([bool(example.yes) for example in examples])
    return _line(rows, known), _line(rows[known], yes[known])


def score(examples: Sequence[ConditionExample], probabilities: Rows) -> dict[str, float]:
    """Return the AUC of answered against open and foreign questions, and AUC and accuracy of yes against no.

    :param probabilities: shape (examples, 2): of an answer, and of yes.
    """
    known = [index for index, example in enumerate(examples) if example.yes is not None]
    scores = {"answered": float(len(known))}
    for name, foreign in (("open", False), ("foreign", True)):
        others = [index for index, example in enumerate(examples) if example.yes is None and example.foreign == foreign]
        if known and others:
            answered = probabilities[[*known, *others], 0].tolist()
            scores[name] = float(len(others))
            scores[f"AUC {name}"] = auc(answered, [True] * len(known) + [False] * len(others))
    true = [bool(examples[index].yes) for index in known]
    predicted = probabilities[known, 1]
    if len(set(true)) == 2:
        scores["AUC yes"] = auc(predicted.tolist(), true)
    if known:
        scores["accuracy"] = float(np.mean((predicted >= 0.5) == np.array(true)))
    return scores


def _line(rows: Rows, sides: NDArray[np.bool_]) -> LogisticRegression:
    """Fit a line with equal total weight of both sides."""
    positive = float(sides.mean())
    shares = np.where(sides, 0.5 / max(positive, 1e-9), 0.5 / max(1 - positive, 1e-9))
    return fitted(FEATURES, rows, sides.astype(float), shares, _PENALTY)


def _probabilities(rows: Rows, lines: tuple[LogisticRegression, LogisticRegression]) -> Rows:
    return np.column_stack([line.probabilities(rows, FEATURES) for line in lines])
