"""Does what somebody tells of themselves settle a yes/no question: scorers by name, with a model or without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from convqa.errors import InputError, WorkError
from convqa.models.folder import CONDITIONS, ModelFolder
from convqa.models.kinds.condition_features import FEATURES, Pair, compared, features, opposed, plain
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.kinds.heads import HeadSettings, head_encoder, read_head
from convqa.models.kinds.support import probabilities
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Identified, Options
from convqa.text.sentences import sentences
from convqa.text.support import CAP, overlap

KIND = CONDITIONS
LEXICAL = "lexical"
LEXICAL_IDENTITY = "lexical-conditions-1"

Number = Annotated[float, Field(allow_inf_nan=False)]


class Told(NamedTuple):
    """``known``: how likely what is told answers the question, 0 to 1; ``yes``: how likely with yes, if it does."""

    known: float
    yes: float


Scores = Callable[[Sequence[Pair]], Sequence[Told]]


class Line(BaseModel):
    """A logistic regression over the features."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weights: dict[str, Number]
    offset: Number

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """One for each row of features."""
        return probabilities(rows, np.array([self.weights[name] for name in FEATURES]), self.offset)


class Settings(HeadSettings):
    """Two lines over the features. ``threshold``: of ``known``, from which on a question counts as answered."""

    known: Line
    yes: Line
    threshold: float = Field(ge=0, le=1)


class Conditions(Identified):
    """Says what somebody's words settle. Safe to call from several threads.

    ``threshold``: of ``Told.known``, from which on a question counts as answered.
    """

    def __init__(self, name: str, checksum: str, runs: str, threshold: float, scores: Scores) -> None:
        self.name = name
        self.checksum = checksum
        self.runs = runs
        self.threshold = threshold
        self._scores = scores

    def judge(self, pairs: Sequence[Pair]) -> list[Told]:
        """One for each pair (what is told, question), in order; nothing is known where either is blank.

        :raises WorkError: if the model makes something that is no score.
        """
        there = [place for place, pair in enumerate(pairs) if all(text.strip() for text in pair)]
        found = [Told(0.0, 0.5)] * len(pairs)
        made = self._scores([pairs[place] for place in there]) if there else []
        for place, told in zip(there, made, strict=True):
            if not all(0 <= one <= 1 for one in told):
                raise WorkError(f"the condition check {self.name} made no score; try: convqa models check {self.name}")
            # A number on the wrong side of what is asked for is no yes, whatever else is alike.
            found[place] = Told(told.known, min(told.yes, CAP)) if compared(*pairs[place]) < 0 else told
        return found


def load_conditions(name: str = KIND, options: Options = Options()) -> Conditions:  # noqa: B008 - frozen
    """The condition check of that name, loaded once per process.

    :param name: ``lexical``, which asks no model; ``conditions``, which ships; or a folder of another such head.
    :raises InputError: if there is none, if it is damaged or no such model, or cannot be run as the options ask.
    """
    if name == LEXICAL:
        return Conditions(LEXICAL, LEXICAL_IDENTITY, "no model", _LEAST_SHARE, lexical)
    folder = find_model(name)
    if folder.manifest is None or folder.manifest.kind != KIND:
        kind = folder.manifest.kind if folder.manifest else "transformers"
        raise InputError(
            f"{folder.path} holds a model of kind {kind!r}; wanted one of kind {KIND!r} (convqa train conditions), or "
            f"{LEXICAL}."
        )
    return once((KIND, folder.path, folder.checksum(), options), lambda: _head(folder, options))


_LEAST_SHARE = 0.5


def lexical(pairs: Sequence[Pair]) -> list[Told]:
    """By words alone: known is the share of the question's words that one sentence has; a negation turns it to no.

    >>> lexical([("I am 30. I don't live in Cyprus.", "Do you live in Cyprus?")])
    [Told(known=1.0, yes=0.0)]
    """
    found = []
    for text, asked in pairs:
        parts = [text[start:end] for start, end in sentences(text)] or [text]
        # Words count here whether they are negated or not.
        shares = [overlap(plain(part), plain(asked)).share for part in parts]
        best = max(range(len(parts)), key=shares.__getitem__)
        found.append(Told(shares[best], 0.0 if opposed(parts[best], asked) else 1.0))
    return found


def head(encoder: TextEncoder, known: Line, yes: Line) -> Scores:
    """The scores that two lines make of the features."""

    def scores(pairs: Sequence[Pair]) -> Sequence[Told]:
        rows = features(encoder, pairs)
        columns = (line.probabilities(rows).tolist() for line in (known, yes))
        return [Told(*one) for one in zip(*columns, strict=True)]

    return scores


def _head(folder: ModelFolder, options: Options) -> Conditions:
    settings = read_head(folder, Settings)
    lines = [settings.known.weights, settings.yes.weights]
    encoder = head_encoder(folder, settings, lines, FEATURES, options)
    scores = head(encoder, settings.known, settings.yes)
    return Conditions(folder.name, folder.checksum(), str(encoder.runs), settings.threshold, scores)
