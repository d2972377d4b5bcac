"""Extractive readers: find spans that answer a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from pydantic import BaseModel, Field, FiniteFloat

from convqa.errors import InputError, reason_of
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.reader_input import MIN_TOKENS, PassageTokens, ReaderInput, Window
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Network, NetworkModel, Options, Pair

Logits = NDArray[np.float32]


class ScoredSpan(NamedTuple):
    """A span in half-open code points of the passage, and its margin over no answer."""

    start: int
    end: int
    margin: float


class Band:
    """The margins of all spans of a passage with at most ``longest`` tokens.

    A span has its best margin over the windows that contain it. It begins and ends with a token that is not white space
    and stays within a section. Needs 4 x ``longest`` bytes per token of the passage.
    """

    def __init__(self, passage: PassageTokens, longest: int) -> None:
        self._offsets = np.array(passage.offsets, dtype=np.int64).reshape(-1, 2)
        self._sections = np.array(passage.sections, dtype=np.int64)
        tokens = len(passage.ids)
        # Row: the first token of a span; column: the distance to its last token.
        self._margins = np.full((tokens, min(longest, tokens)), -np.inf, dtype=np.float32)

    def add(
        self,
        first: int,
        starts: Logits,
        ends: Logits,
        null: float,
    ) -> None:
        """Add the scores of a window.

        :param first: index in the passage of the window's first token.
        :param starts, ends: logits of the passage's tokens in the window.
        :param null: sum of the two logits of no answer.
        """
        rows = self._margins[first : first + len(starts)]
        margins = (starts - np.float32(null))[:, None] + _following(ends, -np.inf, rows.shape[1])
        np.maximum(rows, margins, out=rows)

    def best(self, most: int) -> list[ScoredSpan]:
        """Return the best span, then the best that does not overlap it, and so on; ties by position, then length.

        Can be called once, because it removes the spans it returns.
        """
        spans: list[ScoredSpan] = []
        if not self._margins.size:
            return spans
        self._forbid()
        while len(spans) < most:
            first, distance = np.unravel_index(self._margins.argmax(), self._margins.shape)
            margin = float(self._margins[first, distance])
            if margin == -np.inf:
                break
            start = int(self._offsets[first, 0])
            end = int(self._offsets[first + distance, 1])
            spans.append(ScoredSpan(start, end, margin))
            self._remove(start, end)
        return spans

    def _forbid(self) -> None:
        """Remove spans that begin or end with white space or cross a section."""
        width = self._margins.shape[1]
        starts, ends = self._offsets.T
        full = starts < ends
        allowed = _following(self._sections, -1, width) == self._sections[:, None]
        allowed &= _following(ends, 0, width) > starts[:, None]
        allowed &= _following(full, False, width)
        allowed &= full[:, None]
        np.copyto(self._margins, -np.inf, where=~allowed)

    def _remove(self, start: int, end: int) -> None:
        """Remove every span with one of these characters, which tokens can share."""
        width = self._margins.shape[1]
        touched = np.flatnonzero((self._offsets[:, 0] < end) & (self._offsets[:, 1] > start))
        first = int(touched[0])
        last = int(touched[-1])
        self._margins[first : last + 1] = -np.inf
        for distance in range(1, min(width, first + 1)):
            self._margins[first - distance, distance:] = -np.inf


def _following(
    values: NDArray[Any],
    beyond: float,
    width: int,
) -> NDArray[Any]:
    """Return an array whose row i has the ``width`` values from index i on, padded with ``beyond``."""
    padded = np.concatenate([values, np.full(width - 1, beyond, dtype=values.dtype)])
    return sliding_window_view(padded, width)


MAX_CHUNK_TOKENS = 131_072
"""Maximum tokens of the windows in memory at a time."""


class Calibration(BaseModel, frozen=True):
    """Maps margins to scores, 0 to 1: sigmoid(slope x margin + offset), each given as (slope, offset).

    ``answer``: the expected F1 of a span, which grows with its margin. ``null``: the probability of no answer, which
    falls as the best margin grows.
    """

    answer: tuple[Annotated[FiniteFloat, Field(gt=0)], FiniteFloat] = (1.0, 0.0)
    null: tuple[Annotated[FiniteFloat, Field(lt=0)], FiniteFloat] = (-1.0, 0.0)


class ReaderFields(BaseModel):
    """Manifest fields of readers."""

    calibration: Calibration = Calibration()


@dataclass(frozen=True, slots=True)
class PairReading:
    """The spans of a passage, best first and disjoint, and the best margin, -infinity without spans."""

    spans: tuple[ScoredSpan, ...]
    margin: float


class PairWindow(NamedTuple):
    """A window of a pair's passage."""

    pair: Pair
    passage: PassageTokens
    window: Window


class SpanReader(NetworkModel):
    """Finds the spans of passages that answer questions. Thread-safe.

    A span's margin is logit(start) + logit(end), minus those of the first token ``[CLS]``, which mean no answer.
    Margins are comparable across windows and passages.
    """

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder, choice, network)
        self.calibration = folder.settings(ReaderFields, network.settings).calibration
        if self.max_tokens < MIN_TOKENS:
            raise InputError(f"{folder.path}: max_tokens: expected {MIN_TOKENS} or more, got {self.max_tokens}.")
        try:
            self._input = ReaderInput(network.tokenizer.inner, self.max_tokens)
            self._input.passage("\U0010fffd")
        except Exception as error:  # the library raises plain Exceptions
            raise InputError(
                f"{folder.path}: the tokenizer does not work ({reason_of(error)}). Copy the model again."
            ) from error

    def read(
        self,
        pairs: Sequence[Pair],
        most: int,
        longest: int = 30,
    ) -> list[PairReading]:
        """Return one reading per pair (question, passage), in order; repeated pairs are read once.

        :param most: maximum spans per passage. :param longest: maximum tokens of a span.
        :raises WorkError: if the model returns invalid numbers.
        """
        readings = dict.fromkeys(pairs, PairReading((), -math.inf))
        # Passages of similar length run together; questions about the same passage share its tokens.
        ordered = sorted(readings, key=lambda pair: (len(pair[1]), pair[1], pair[0]))
        for pair, windows in groupby(self._scored(ordered), key=lambda scored: scored[0].pair):
            spans = self._best_spans(windows, max(most, 1), longest)
            if spans:
                readings[pair] = PairReading(tuple(spans[:most]), spans[0].margin)
        return [readings[pair] for pair in pairs]

    def try_texts(self, texts: Sequence[str]) -> None:
        self.read([("What is said of it?", text) for text in texts], 1)

    def expected(self, margin: float) -> float:
        """Return the expected F1 of a span with this margin."""
        return probability(margin, self.calibration.answer)

    def null(self, margin: float) -> float:
        """Return the probability of no answer, given the best margin over all passages; 1 for -infinity."""
        return probability(margin, self.calibration.null)

    def _best_spans(
        self,
        scored: Iterable[tuple[PairWindow, Array]],
        most: int,
        longest: int,
    ) -> list[ScoredSpan]:
        """Return the best spans of a passage from the logits of its windows."""
        band: Band | None = None
        for (_, passage, window), logits in scored:
            if band is None:
                # A span cannot be longer than a window.
                band = Band(passage, min(longest, self.max_tokens))
            end = window.at + window.last - window.first
            starts, ends = logits[:, window.at : end]
            band.add(
                window.first,
                starts,
                ends,
                float(logits[:, 0].sum()),
            )
        return band.best(most) if band else []

    def _scored(self, pairs: Iterable[Pair]) -> Iterator[tuple[PairWindow, Array]]:
        """Yield the windows of each pair with their logits, shape (2, tokens)."""
        for chunk in _chunks(self._windows(pairs)):
            results = self._network.run([item.window.tokens for item in chunk])
            for item, outputs in zip(chunk, results, strict=True):
                logits = np.stack(outputs)
                if logits.shape != (2, len(item.window.tokens)) or not np.isfinite(logits).all():
                    raise self.invalid("reader")
                yield item, logits

    def _windows(self, pairs: Iterable[Pair]) -> Iterator[PairWindow]:
        tokens_of_question = cache(self._input.question)
        for text, pairs_of_text in groupby(pairs, key=lambda pair: pair[1]):
            passage = self._input.passage(text)
            for pair in pairs_of_text:
                for window in self._input.windows(tokens_of_question(pair[0]), passage):
                    yield PairWindow(pair, passage, window)


def load_reader(name: str = "reader", options: Options = Options()) -> SpanReader:  # noqa: B008 - frozen
    """Load a reader, a model for extractive question answering, once per process.

    :raises InputError: if the model is unknown, damaged, not a reader, or cannot run with these options.
    """
    return load_once("reader", find_model(name), options, SpanReader)


def _chunks(windows: Iterable[PairWindow]) -> Iterator[list[PairWindow]]:
    chunk: list[PairWindow] = []
    size = 0
    for item in windows:
        length = len(item.window.tokens)
        if chunk and size + length > MAX_CHUNK_TOKENS:
            yield chunk
            chunk = []
            size = 0
        chunk.append(item)
        size += length
    if chunk:
        yield chunk


def probability(margin: float, line: tuple[float, float]) -> float:
    """Return sigmoid(slope x margin + offset) for a (slope, offset) of a :class:`Calibration`."""
    slope, offset = line
    value = slope * margin + offset
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
