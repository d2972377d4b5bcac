"""Judge whether a user's statements answer a yes/no question, and how."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel

from convqa.models.folder import ModelFolder
from convqa.models.kinds.encoder import load_encoder
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Array, Model, Pair
from convqa.sharc.lexicon import NEGATED_ANYWHERE, opposite
from convqa.text.sentences import sentences
from convqa.text.support import CAP, overlap

CONDITIONS = "conditions"
"""The model that ships."""

_SAID = re.compile(r"\s*(yes|no)\b", re.I)
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_ABOVE = re.compile(
    r"\b(?:over|more than|at least|older|above|exceeds?|greater|minimum|or more|after|longer than)\b",
    re.I,
)
_BELOW = re.compile(
    r"\b(?:under|less than|at most|younger|below|maximum|or less|before|up to|within|fewer|shorter)\b",
    re.I,
)


class Judgment(NamedTuple):
    """``known``: probability that the statements answer the question; ``yes``: probability of yes if they do."""

    known: float
    yes: float


class LogisticRegression(BaseModel, frozen=True):
    """``weights``: feature -> weight."""

    weights: dict[str, float]
    offset: float

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability of the positive class."""
        logit = self.offset
        for name, value in features.items():
            logit += self.weights[name] * value
        return 1 / (1 + math.exp(-logit))


class JudgeSettings(BaseModel, frozen=True):
    """Two regressions over features of this encoder. ``threshold``: minimum ``known`` of an answer."""

    encoder: str
    known: LogisticRegression
    yes: LogisticRegression
    threshold: float


class Conditions(Model):
    """Judges questions by a user's statements. ``threshold``: minimum ``known`` of an answer. Thread-safe."""

    def __init__(self, folder: ModelFolder) -> None:
        assert folder.manifest is not None
        self._settings = folder.settings(JudgeSettings, folder.manifest.settings)
        self._encoder = load_encoder(self._settings.encoder)
        super().__init__(folder.name, folder.checksum(), str(self._encoder.runs))
        self.threshold = self._settings.threshold

    def judge(self, pairs: Sequence[Pair]) -> list[Judgment]:
        """Return one judgment per pair (statements, question), neither of which is blank.

        :raises WorkError: if the encoder returns invalid numbers.
        """
        statements = {text: _sentences(text) for text, _ in pairs}
        texts = {question for _, question in pairs}
        texts.update(*statements.values())
        distinct = sorted(texts)
        vectors = dict(zip(distinct, self._encoder.encode(distinct), strict=True))
        judgments = []
        for text, question in pairs:
            features = _features(text, statements[text], question, vectors)
            yes = self._settings.yes.probability(features)
            if features["compared"] < 0:
                # A number that misses the question's limit is never a yes.
                yes = min(yes, CAP)
            judgments.append(Judgment(self._settings.known.probability(features), yes))
        return judgments


def load_conditions() -> Conditions:
    """Load the condition check that ships, once per process.

    :raises InputError: if it is damaged.
    """
    return once(CONDITIONS, lambda: Conditions(find_model(CONDITIONS)))


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)] or [text]


def compared(statement: str, question: str) -> int:
    """Compare a number in a text with the limit in a question: 1 = satisfied, -1 = missed, 0 = not comparable.

    >>> compared("I am 68.", "Over 60?"), compared("I am 68.", "Under 60?"), compared("I am old.", "Over 60?")
    (1, -1, 0)
    """
    limits = _numbers(question)
    numbers = _numbers(statement)
    is_minimum = bool(_ABOVE.search(question))
    is_maximum = bool(_BELOW.search(question))
    if len(limits) != 1 or not numbers or is_minimum == is_maximum:
        return 0
    [limit] = limits
    nearest = min(numbers, key=lambda number: abs(number - limit))
    return 1 if (nearest >= limit) == is_minimum else -1


def _features(
    text: str,
    statements: Sequence[str],
    question: str,
    vectors: Mapping[str, Array],
) -> dict[str, float]:
    """Return the features of a text with these sentences and of a question.

    Most are of the ``chosen`` statement, the one most similar to the question.
    """
    cosines = [float(vectors[statement] @ vectors[question]) for statement in statements]
    overlaps = [overlap(statement, question) for statement in statements]
    best = max(
        range(len(statements)),
        key=lambda index: cosines[index] + overlaps[index].share,
    )
    chosen = overlaps[best]
    against = float(chosen.opposed)
    negated = float(opposite(statements[best], question, NEGATED_ANYWHERE))
    begins = _SAID.match(text)
    said = 0.0
    if begins is not None:
        said = 1.0 if begins[1].lower() == "yes" else -1.0
    side = float(compared(text, question))
    return {
        "nearest": max(cosines),
        "chosen": cosines[best],
        "share": chosen.share,
        "pairs": chosen.pairs,
        "numbers": chosen.numbers,
        "names": chosen.names,
        "whole share": overlap(text, question).share,
        "opposed": against,
        "negated": negated,
        "negated share": negated * chosen.share,
        "opposed share": against * chosen.share,
        "said": said,
        "compared": side,
        "comparable": abs(side),
        "words": len(question.split()) / 10,
        "sentences": min(len(statements), 6) / 5,
    }


def _numbers(text: str) -> list[float]:
    digits = (number.replace(",", "") for number in _NUMBER.findall(text))
    return [float(number) for number in digits if number.count(".") < 2]
