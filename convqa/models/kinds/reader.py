"""Extractive readers: find spans that answer a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from pydantic import BaseModel, Field, FiniteFloat

from convqa.errors import InputError
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.reader_input import MIN_TOKENS, PassageTokens, ReaderInput, Window
from convqa.models.types import Choice, Network, NetworkModel, Options, Pair

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
        self._margins = np.full(
            (tokens, min(longest, tokens)),
            -np.inf,
            dtype=np.float32,
        )

    def add(self, window: Window, starts: Logits, ends: Logits) -> None:
        """Add the logits of a window's tokens. Those of its first token, ``[CLS]``, mean no answer."""
        null = starts[0] + ends[0]
        passage = slice(window.at, window.at + window.last - window.first)
        rows = self._margins[window.first : window.last]
        following = _following(ends[passage], -np.inf, rows.shape[1])
        margins = (starts[passage] - null)[:, None] + following
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
        starts, ends = self._offsets.T
        touched = np.flatnonzero((starts < end) & (ends > start))
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
    padding = np.full(width - 1, beyond, dtype=values.dtype)
    padded = np.concatenate([values, padding])
    return sliding_window_view(padded, width)


_PAIRS_IN_MEMORY = 64
"""Maximum pairs whose tokens and logits are in memory at a time."""


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


class SpanReader(NetworkModel):
    """Finds the spans of passages that answer questions. Thread-safe.

    A span's margin is logit(start) + logit(end), minus those of the first token ``[CLS]``, which mean no answer.
    Margins are comparable across windows and passages.
    """

    def __init__(
        self,
        folder: ModelFolder,
        choice: Choice,
        network: Network,
    ) -> None:
        super().__init__(folder, choice, network)
        self.calibration = folder.settings(ReaderFields, network.settings).calibration
        if self.max_tokens < MIN_TOKENS:
            raise InputError(f"{folder.path}: max_tokens: expected {MIN_TOKENS} or more, got {self.max_tokens}.")
        self.tokenizer = network.tokenizer.inner
        self.reads_units = bool(network.further)
        self._input = ReaderInput(self.tokenizer, self.max_tokens)

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
        # Passages of similar length run together; questions about the same passage share its tokens.
        distinct = sorted(set(pairs), key=_by_length)
        readings: dict[Pair, PairReading] = {}
        for start in range(0, len(distinct), _PAIRS_IN_MEMORY):
            chunk = distinct[start : start + _PAIRS_IN_MEMORY]
            for pair, band in zip(chunk, self._bands(chunk, longest), strict=True):
                spans = band.best(max(most, 1))
                margin = spans[0].margin if spans else -math.inf
                readings[pair] = PairReading(tuple(spans[:most]), margin)
        return [readings[pair] for pair in pairs]

    def expected(self, margin: float) -> float:
        """Return the expected F1 of a span with this margin."""
        return probability(margin, self.calibration.answer)

    def null(self, margin: float) -> float:
        """Return the probability of no answer, given the best margin over all passages; 1 for -infinity."""
        return probability(margin, self.calibration.null)

    def _bands(self, pairs: Sequence[Pair], longest: int) -> list[Band]:
        """Return the margins of the spans of each pair's passage."""
        tokens_of = cache(self._input.passage)
        bands = []
        windows: list[tuple[Band, Window]] = []
        for question, text in pairs:
            passage = tokens_of(text)
            # A span cannot be longer than a window.
            band = Band(passage, min(longest, self.max_tokens))
            bands.append(band)
            tokens = self._input.question(question)
            of_passage = self._input.windows(tokens, passage)
            windows += [(band, window) for window in of_passage]
        results = self.outputs([window.tokens for _, window in windows])
        for (band, window), (starts, ends, *_) in zip(windows, results, strict=True):
            band.add(window, starts, ends)
        return bands


def _by_length(pair: Pair) -> tuple[int, str, str]:
    question, text = pair
    return len(text), text, question


def load_reader(name: str = "reader", options: Options = Options()) -> SpanReader:  # noqa: B008 - frozen
    """Load a reader, a model for extractive question answering, once per process.

    :raises InputError: if the model is unknown, damaged, not a reader, or cannot run with these options.
    """
    return load_once("reader", name, options, SpanReader)


def probability(margin: float, line: tuple[float, float]) -> float:
    """Return sigmoid(slope x margin + offset) for a (slope, offset) of a :class:`Calibration`."""
    slope, offset = line
    value = slope * margin + offset
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
