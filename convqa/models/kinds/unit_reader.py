"""Readers of units: score the sentences, list items and table rows of a passage as answers to a turn.

The network of a span reader has three more heads: at the mark before each unit, at each of its tokens, and at the
first token for the whole passage. A sequence is ``[CLS] question [RW] rewrite [PQ] last question [PA] last answer [PQ]
question before [SEP] title [SEP]``, then each unit after its mark, and ``[SEP]``. Marks are tokens that BERT's
vocabulary leaves unused. Long passages are read in windows of whole units that overlap by one unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from convqa.errors import InputError
from convqa.files import replace_surrogates
from convqa.models.kinds.reader import SpanReader, load_reader
from convqa.models.types import TokenSequence

if TYPE_CHECKING:
    import tokenizers

_CLS = "[CLS]"
_SEP = "[SEP]"
_REWRITE = "[unused1]"
_QUESTION_BEFORE = "[unused2]"
_ANSWER_BEFORE = "[unused3]"
_UNIT = "[unused4]"

_MAX_QUESTION = 48
_MAX_LAST_QUESTION = 32
_MAX_LAST_ANSWER = 40
_MAX_QUESTION_BEFORE = 24
_MAX_TITLE = 32
_MAX_UNIT = 160
"""Maximum tokens of each part. Questions keep their last tokens, the others their first."""

_MAX_REMEMBERED = 4096
"""Maximum readings that are remembered."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in its conversation. ``history``: the earlier questions and answers, oldest first."""

    question: str
    rewrite: str = ""
    history: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class UnitPassage:
    """The title and the texts of the units of a passage, in order."""

    title: str
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PassageReading:
    """How well the units of a passage answer, above 0 better than no answer, and how well the passage does."""

    units: tuple[float, ...]
    passage: float


@dataclass(frozen=True, slots=True)
class UnitWindow:
    """A sequence; ``units``: index, first token and end of each unit in it. The mark is before the first token."""

    tokens: TokenSequence
    units: list[tuple[int, int, int]]


class UnitInput:
    """Lays out a question and the units of a passage as sequences, in training and inference.

    :raises InputError: if the tokenizer has no marks, because it is not BERT's.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        marks = [_CLS, _SEP, _REWRITE, _QUESTION_BEFORE, _ANSWER_BEFORE, _UNIT]
        self._id: dict[str, int] = {}
        for mark in marks:
            id = tokenizer.token_to_id(mark)
            if id is None:
                raise InputError(f"the tokenizer has no token {mark}; expected that of a BERT model.")
            self._id[mark] = id

    def question(self, asked: AskedQuestion) -> list[int]:
        """Return the tokens of the question in its conversation, up to the first separator."""
        ids = [self._id[_CLS], *self._ids(asked.question)[-_MAX_QUESTION:]]
        if asked.rewrite.strip() and asked.rewrite.strip().lower() != asked.question.strip().lower():
            ids += [self._id[_REWRITE], *self._ids(asked.rewrite)[-_MAX_QUESTION:]]
        if asked.history:
            question, answer = asked.history[-1]
            ids += [self._id[_QUESTION_BEFORE], *self._ids(question)[-_MAX_LAST_QUESTION:]]
            if answer:
                ids += [self._id[_ANSWER_BEFORE], *self._ids(answer)[:_MAX_LAST_ANSWER]]
        if len(asked.history) > 1:
            question, _ = asked.history[-2]
            ids += [self._id[_QUESTION_BEFORE], *self._ids(question)[-_MAX_QUESTION_BEFORE:]]
        return [*ids, self._id[_SEP]]

    def windows(self, question: list[int], passage: UnitPassage) -> Iterator[UnitWindow]:
        """Yield the windows that cover the units of a passage."""
        title = self._ids(passage.title)[:_MAX_TITLE]
        before = question + ([*title, self._id[_SEP]] if title else [])
        room = self._max_tokens - len(before) - 1
        most = min(_MAX_UNIT, room - 1)
        units = [self._ids(text)[:most] for text in passage.units]
        first = 0
        while first < len(units):
            ids = list(before)
            inside = []
            last = first
            while last < len(units) and len(ids) - len(before) + len(units[last]) < room:
                ids.append(self._id[_UNIT])
                if units[last]:
                    inside.append((last, len(ids), len(ids) + len(units[last])))
                ids += units[last]
                last += 1
            ids.append(self._id[_SEP])
            types = [0] * len(question) + [1] * (len(ids) - len(question))
            yield UnitWindow(TokenSequence(ids, types), inside)
            if last == len(units):
                return
            first = max(first + 1, last - 1)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(replace_surrogates(text), add_special_tokens=False).ids
        return ids


class UnitReader:
    """Scores units with a span reader's model. Thread-safe.

    :raises InputError: if the model has no heads for units.
    """

    def __init__(self, model: SpanReader) -> None:
        if not model.reads_units:
            raise InputError(
                f"the reader {model.name!r} finds spans, but does not score units. Use the shipped reader, or the "
                "reader extractive: --set reader.type=extractive."
            )
        self.model = model
        self._input = UnitInput(model.tokenizer, model.max_tokens)
        self._remembered: dict[tuple[AskedQuestion, UnitPassage], PassageReading] = {}
        self._lock = Lock()

    def read(self, pairs: Sequence[tuple[AskedQuestion, UnitPassage]]) -> list[PassageReading]:
        """Return the reading of each pair, in order. A passage without units has the score -infinity.

        The last readings are remembered, since a reranker and a reader read the same passages.

        :raises WorkError: if the model returns invalid numbers.
        """
        with self._lock:
            known = {pair: self._remembered[pair] for pair in pairs if pair in self._remembered}
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        known.update(zip(fresh, self._read(fresh), strict=True))
        with self._lock:
            self._remembered.update(known)
            for oldest in list(self._remembered)[:-_MAX_REMEMBERED]:
                del self._remembered[oldest]
        return [known[pair] for pair in pairs]

    def _read(self, pairs: Sequence[tuple[AskedQuestion, UnitPassage]]) -> list[PassageReading]:
        questions = {asked: self._input.question(asked) for asked, _ in pairs}
        windows: list[tuple[int, UnitWindow]] = []
        for index, (asked, passage) in enumerate(pairs):
            windows += [(index, window) for window in self._input.windows(questions[asked], passage)]
        outputs = self.model.outputs([window.tokens for _, window in windows])
        scores = [[-np.inf] * len(passage.units) for _, passage in pairs]
        passages = [-np.inf] * len(pairs)
        for (owner, window), output in zip(windows, outputs, strict=True):
            _, _, marks, tokens, passage_logit = output
            passages[owner] = max(passages[owner], float(passage_logit))
            for unit, first, end in window.units:
                score = float(marks[first - 1] + tokens[first:end].mean())
                scores[owner][unit] = max(scores[owner][unit], score)
        return [PassageReading(tuple(units), score) for units, score in zip(scores, passages, strict=True)]


def load_unit_reader(name: str = "reader") -> UnitReader:
    """Load a reader of units, once per process.

    :raises InputError: if the model is unknown, damaged or does not score units.
    """
    return _unit_reader(load_reader(name))


@lru_cache(4)
def _unit_reader(model: SpanReader) -> UnitReader:
    """Return the reader of a model, which its reranker shares."""
    return UnitReader(model)
