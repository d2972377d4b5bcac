"""Judge whether a user's statements answer a yes/no question, and how."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.models.folder import MANIFEST, ModelFolder
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.heads import (
    LogisticRegression,
    Rows,
    parts_of,
    score_nonblank,
    vectors_of,
)
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Array, Model, Options, Pair
from convqa.sharc.lexicon import NEGATED_ANYWHERE
from convqa.text.support import CAP, overlap

CONDITIONS = "conditions"
"""The kind of these models, and the name of the one that ships."""

FEATURES = (
    "nearest",
    "chosen",
    "share",
    "pairs",
    "numbers",
    "names",
    "whole share",
    "opposed",
    "negated",
    "negated share",
    "opposed share",
    "said",
    "compared",
    "comparable",
    "words",
    "sentences",
)
"""Of the statement most similar to the question: the cosine (``chosen``), the ``Overlap`` with the question, whether
only one of the two is ``negated``. ``nearest``: the highest cosine of all statements. ``said``: the text begins with
yes (1) or no (-1). ``compared``: a number of the text satisfies (1) or misses (-1) a limit of the question such as
"over 60". ``words`` and ``sentences``: length of question and text."""

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


class JudgeSettings(BaseModel, frozen=True):
    """Two regressions over the encoder with this name and checksum. ``threshold``: minimum ``known`` of an answer."""

    encoder: str = Field(min_length=1)
    checksum: str
    known: LogisticRegression
    yes: LogisticRegression
    threshold: float = Field(ge=0, le=1)


class Conditions(Model):
    """Judges questions by a user's statements. ``threshold``: minimum ``known`` of an answer. Thread-safe."""

    def __init__(
        self,
        folder: ModelFolder,
        settings: JudgeSettings,
        encoder: TextEncoder,
    ) -> None:
        super().__init__(folder.name, folder.checksum(), str(encoder.runs))
        self.threshold = settings.threshold
        self._settings = settings
        self._encoder = encoder

    def judge(self, pairs: Sequence[Pair]) -> list[Judgment]:
        """Return one judgment per pair (statements, question); nothing is known if either is blank.

        :raises WorkError: if the encoder returns invalid numbers.
        """
        return score_nonblank(pairs, self._judgments, Judgment(0.0, 0.5))

    def _judgments(self, pairs: Sequence[Pair]) -> list[Judgment]:
        rows = features(self._encoder, pairs)
        known = self._settings.known.probabilities(rows, FEATURES).tolist()
        yes = self._settings.yes.probabilities(rows, FEATURES)
        # A number that misses the question's limit is never a yes.
        is_missed = rows[:, FEATURES.index("compared")] < 0
        yes[is_missed] = np.minimum(yes[is_missed], CAP)
        return [Judgment(*row) for row in zip(known, yes.tolist(), strict=True)]

    def try_texts(self, texts: Sequence[str]) -> None:
        """Judge a sample of texts, for ``convqa models check``."""
        self.judge([(text, f"Is it {text[:60]}?") for text in texts])


def load_conditions(name: str = CONDITIONS, options: Options = Options()) -> Conditions:  # noqa: B008 - frozen
    """Load a condition check, once per process.

    :param name: ``conditions``, which ships, or the folder of another such head.
    :raises InputError: if the model is unknown, damaged, of another kind, or cannot run with these options.
    """
    folder = find_model(name)
    return once((CONDITIONS, folder.path, folder.checksum(), options), lambda: _load(folder, options))


def _load(folder: ModelFolder, options: Options) -> Conditions:
    """:raises InputError: for another kind, damaged settings, or weights or an encoder of another version."""
    folder.require_kind(CONDITIONS)
    advice = f"Make the model again with convqa train {CONDITIONS}."
    settings = folder.settings(JudgeSettings, folder.manifest.settings if folder.manifest else {}, advice)
    where = f"{folder.path / MANIFEST}: settings"
    for line in (settings.known, settings.yes):
        if set(line.weights) != set(FEATURES):
            raise InputError(
                f"{where}: weights: expected {', '.join(FEATURES)}, got {', '.join(line.weights)}. {advice}"
            )
    encoder = load_encoder(settings.encoder, options)
    if encoder.checksum != settings.checksum:
        raise InputError(
            f"{where}: expected the encoder {settings.encoder!r} with the checksum {settings.checksum}, got "
            f"{encoder.checksum}. {advice}"
        )
    return Conditions(folder, settings, encoder)


def features(encoder: TextEncoder, pairs: Sequence[Pair]) -> Rows:
    """Return the features of each pair (statements, yes/no question), in order."""
    statements = {text: parts_of(text) or [text] for text, _ in pairs}
    texts = [
        *chain.from_iterable(statements.values()),
        *(question for _, question in pairs),
    ]
    vectors = vectors_of(encoder, texts)
    rows = []
    for text, question in pairs:
        row = _row(text, statements[text], question, vectors)
        rows.append([row[name] for name in FEATURES])
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(FEATURES))


def opposed(statement: str, question: str) -> bool:
    """Return whether only one of two texts has a negation.

    >>> opposed("I have no children.", "Do you have children?"), opposed("I live here.", "Do you live here?")
    (True, False)
    """
    return bool(NEGATED_ANYWHERE.search(statement)) != bool(NEGATED_ANYWHERE.search(question))


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


def _row(
    text: str,
    statements: Sequence[str],
    question: str,
    vectors: Mapping[str, Array],
) -> dict[str, float]:
    cosines = [float(vectors[statement] @ vectors[question]) for statement in statements]
    overlaps = [overlap(statement, question) for statement in statements]
    best = max(
        range(len(statements)),
        key=lambda index: cosines[index] + overlaps[index].share,
    )
    chosen = overlaps[best]
    against = float(chosen.opposed)
    negated = float(opposed(statements[best], question))
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
