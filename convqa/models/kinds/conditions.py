"""Condition scorers by name: whether what a user says answers a yes/no question, and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from pydantic import Field

from convqa.errors import InputError, WorkError
from convqa.models.folder import CONDITIONS, ModelFolder
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.kinds.heads import HeadSettings, Line, Number, Rows, load_head, parts_of, vectors_of
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Array, Model, Options, Pair
from convqa.text.english.lexicon import NEGATED_ANYWHERE
from convqa.text.support import CAP, overlap

LEXICAL = "lexical"
LEXICAL_IDENTITY = "lexical-conditions-1"
_LEAST_SHARE = 0.5

FEATURES = (
    "nearest", "chosen", "share", "pairs", "numbers", "names", "whole share", "opposed", "negated", "negated share",
    "opposed share", "said", "compared", "comparable", "words", "sentences",
)  # fmt: skip
"""Of the sentence told that is most like the question: its cosine (``chosen``), its ``Overlap`` with the question, and
whether one of the two alone is ``negated``. ``nearest``: the best cosine of all sentences. ``said``: it begins with yes
(1) or no (-1). ``compared``: a number told is (1) or is not (-1) on the side of the question's number that "over",
"under" and the like want. ``words`` and ``sentences``: how much is asked and told."""

_SAID = re.compile(r"\s*(yes|no)\b", re.I)
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_ABOVE = re.compile(
    r"\b(?:over|more than|at least|older|above|exceeds?|greater|minimum|or more|after|longer than)\b", re.I
)
_BELOW = re.compile(
    r"\b(?:under|less than|at most|younger|below|maximum|or less|before|up to|within|fewer|shorter)\b", re.I
)


class Settled(NamedTuple):
    """``known``: how likely what is told answers the question, 0 to 1; ``yes``: how likely with yes, if it does."""

    known: float
    yes: float


Scores = Callable[[Sequence[Pair]], Sequence[Settled]]


class Settings(HeadSettings, frozen=True):
    """Two lines over the features. ``threshold``: of ``known``, from which on a question counts as answered."""

    known: Line
    yes: Line
    threshold: float = Field(ge=0, le=1)

    @property
    def weights_of_lines(self) -> list[dict[str, Number]]:
        return [self.known.weights, self.yes.weights]


class Conditions(Model):
    """Says what somebody's words settle. Safe to call from several threads.

    ``threshold``: of ``Settled.known``, from which on a question counts as answered.
    """

    def __init__(self, name: str, checksum: str, runs: str, threshold: float, scores: Scores) -> None:
        super().__init__(name, checksum, runs)
        self.threshold = threshold
        self._scores = scores

    def judge(self, pairs: Sequence[Pair]) -> list[Settled]:
        """One for each pair (what is told, question), in order; nothing is known where either is blank.

        :raises WorkError: if the model makes something that is no score.
        """
        there = [place for place, pair in enumerate(pairs) if all(text.strip() for text in pair)]
        found = [Settled(0.0, 0.5)] * len(pairs)
        made = self._scores([pairs[place] for place in there]) if there else []
        for place, told in zip(there, made, strict=True):
            if not all(0 <= one <= 1 for one in told):
                raise WorkError(
                    f"the condition check {self.name!r} made no score; try: convqa models check {self.name}"
                )
            # A number on the wrong side of what is asked for is no yes, whatever else is alike.
            found[place] = Settled(told.known, min(told.yes, CAP)) if compared(*pairs[place]) < 0 else told
        return found


def load_conditions(name: str = CONDITIONS, options: Options = Options()) -> Conditions:  # noqa: B008 - frozen
    """The condition check of that name, loaded once per process.

    :param name: ``lexical``, which asks no model; ``conditions``, which ships; or a folder of another such head.
    :raises InputError: if there is none, if it is damaged or no such model, or cannot be run as the options ask.
    """
    if name == LEXICAL:
        return Conditions(LEXICAL, LEXICAL_IDENTITY, "no model", _LEAST_SHARE, lexical)
    folder = find_model(name)
    if folder.manifest is None or folder.manifest.kind != CONDITIONS:
        kind = folder.manifest.kind if folder.manifest else "transformers"
        raise InputError(
            f"{folder.path} holds a model of kind {kind!r}; wanted one of kind {CONDITIONS!r} (convqa train "
            f"conditions), or {LEXICAL}."
        )
    return once((CONDITIONS, folder.path, folder.checksum(), options), lambda: _head(folder, options))


def lexical(pairs: Sequence[Pair]) -> list[Settled]:
    """By words alone: known is the share of the question's words that one sentence has; a negation turns it to no.

    >>> lexical([("I am 30. I don't live in Cyprus.", "Do you live in Cyprus?")])
    [Settled(known=1.0, yes=0.0)]
    """
    found = []
    for text, asked in pairs:
        parts = parts_of(text) or [text]
        # Words count here whether they are negated or not.
        shares = [overlap(plain(part), plain(asked)).share for part in parts]
        best = max(range(len(parts)), key=shares.__getitem__)
        found.append(Settled(shares[best], 0.0 if opposed(parts[best], asked) else 1.0))
    return found


def _head(folder: ModelFolder, options: Options) -> Conditions:
    settings, encoder = load_head(folder, Settings, FEATURES, options)

    def scores(pairs: Sequence[Pair]) -> Sequence[Settled]:
        rows = features(encoder, pairs)
        columns = (line.probabilities(rows, FEATURES).tolist() for line in (settings.known, settings.yes))
        return [Settled(*one) for one in zip(*columns, strict=True)]

    return Conditions(folder.name, folder.checksum(), str(encoder.runs), settings.threshold, scores)


def features(encoder: TextEncoder, pairs: Sequence[Pair]) -> Rows:
    """The features of each pair (what somebody tells, a yes/no question about them), in order."""
    told = {text: parts_of(text) or [text] for text, _ in pairs}
    vectors = vectors_of(encoder, [*(one for some in told.values() for one in some), *(asked for _, asked in pairs)])
    rows = [_row(text, told[text], asked, vectors) for text, asked in pairs]
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(FEATURES))


def opposed(told: str, asked: str) -> bool:
    """Whether one of two texts alone has a negation anywhere.

    >>> opposed("I have no children.", "Do you have children?"), opposed("I live here.", "Do you live here?")
    (True, False)
    """
    return bool(NEGATED_ANYWHERE.search(told)) != bool(NEGATED_ANYWHERE.search(asked))


def plain(text: str) -> str:
    """A text without its negations.

    >>> plain("I don't live here.")
    'I do live here.'
    """
    return " ".join(NEGATED_ANYWHERE.sub(" ", text).split())


def compared(told: str, asked: str) -> int:
    """1 where a number told is on the side of the question's number that is wanted, -1 where it is not, else 0.

    >>> compared("I am 68.", "Over 60?"), compared("I am 68.", "Under 60?"), compared("I am old.", "Over 60?")
    (1, -1, 0)
    """
    limits, numbers = _numbers(asked), _numbers(told)
    above, below = bool(_ABOVE.search(asked)), bool(_BELOW.search(asked))
    if len(limits) != 1 or not numbers or above == below:
        return 0
    near = min(numbers, key=lambda one: abs(one - limits[0]))
    return 1 if (near >= limits[0]) == above else -1


def _row(text: str, told: Sequence[str], asked: str, vectors: Mapping[str, Array]) -> list[float]:
    cosines = [float(vectors[one] @ vectors[asked]) for one in told]
    overlaps = [overlap(one, asked) for one in told]
    best = max(range(len(told)), key=lambda at: cosines[at] + overlaps[at].share)
    found = overlaps[best]
    negated, against = float(opposed(told[best], asked)), float(found.opposed)
    said = _SAID.match(text)
    side = compared(text, asked)
    return [
        max(cosines), cosines[best], found.share, found.pairs, found.numbers, found.names, overlap(text, asked).share,
        against, negated, negated * found.share, against * found.share,
        0.0 if said is None else 1.0 if said[1].lower() == "yes" else -1.0,
        float(side), float(abs(side)), len(asked.split()) / 10, min(len(told), 6) / 5,
    ]  # fmt: skip


def _numbers(text: str) -> list[float]:
    found = (one.replace(",", "") for one in _NUMBER.findall(text))
    return [float(one) for one in found if one.count(".") < 2]
