"""Extractive readers: find spans that answer a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import BaseModel, Field, FiniteFloat

from convqa.errors import InputError, reason_of
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.reader_input import LEAST_TOKENS, PassageTokens, ReaderInput, Window
from convqa.models.kinds.reader_spans import Band, ScoredSpan
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Network, NetworkModel, Options, Pair

CHUNK = 131_072
"""Maximum tokens of the windows in memory at a time."""


class Calibration(BaseModel, frozen=True):
    """Maps margins to scores, 0 to 1: sigmoid(slope x margin + offset), each given as (slope, offset).

    ``answer``: the expected F1 of a span, which grows with its margin. ``null``: the probability of no answer, which
    falls as the best margin grows.
    """

    answer: tuple[Annotated[FiniteFloat, Field(gt=0)], FiniteFloat] = (1.0, 0.0)
    null: tuple[Annotated[FiniteFloat, Field(lt=0)], FiniteFloat] = (-1.0, 0.0)


class Settings(BaseModel):
    """Manifest fields of readers."""

    calibration: Calibration = Calibration()


@dataclass(frozen=True, slots=True)
class PairReading:
    """The spans of a passage, best first and disjoint, and the best margin, -infinity without spans."""

    spans: tuple[ScoredSpan, ...]
    margin: float


_NOTHING = PairReading((), -math.inf)


class _Part(NamedTuple):
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
        self.calibration = folder.settings(Settings, network.settings).calibration
        if self.max_tokens < LEAST_TOKENS:
            raise InputError(f"{folder.path}: max_tokens: expected {LEAST_TOKENS} or more, got {self.max_tokens}.")
        try:
            self._input = ReaderInput(network.tokenizer.inner, self.max_tokens)
            self._input.passage("\U0010fffd")
        except Exception as error:  # the library raises plain Exceptions
            raise InputError(
                f"{folder.path}: the tokenizer does not work ({reason_of(error)}). Copy the model again."
            ) from error

    def read(self, pairs: Sequence[Pair], most: int, longest: int = 30) -> list[PairReading]:
        """Return one reading per pair (question, passage), in order; repeated pairs are read once.

        :param most: maximum spans per passage. :param longest: maximum tokens of a span.
        :raises WorkError: if the model returns invalid numbers.
        """
        readings = dict.fromkeys(pairs, _NOTHING)
        # Passages of similar length run together; questions about the same passage share its tokens.
        ordered = sorted(readings, key=lambda pair: (len(pair[1]), pair[1], pair[0]))
        for pair, parts in groupby(self._scored(ordered), key=lambda scored: scored[0].pair):
            band: Band | None = None
            for part, logits in parts:
                # A span cannot be longer than a window.
                band = band or Band(part.passage, min(longest, self.max_tokens))
                window = part.window
                starts, ends = logits[:, window.at : window.at + window.last - window.first]
                band.add(window.first, starts, ends, float(logits[:, 0].sum()))
            assert band is not None
            spans = band.best(max(most, 1))
            if spans:
                readings[pair] = PairReading(tuple(spans[:most]), spans[0].margin)
        return [readings[pair] for pair in pairs]

    def expected(self, margin: float) -> float:
        """Return the expected F1 of a span with this margin."""
        return probability(margin, self.calibration.answer)

    def null(self, margin: float) -> float:
        """Return the probability of no answer, given the best margin over all passages; 1 for -infinity."""
        return probability(margin, self.calibration.null)

    def _scored(self, pairs: Iterable[Pair]) -> Iterator[tuple[_Part, Array]]:
        for chunk in _chunks(self._parts(pairs)):
            results = self._network.run([part.window.tokens for part in chunk])
            for part, outputs in zip(chunk, results, strict=True):
                logits = np.stack(outputs)
                if logits.shape != (2, len(part.window.tokens)) or not np.isfinite(logits).all():
                    raise self.invalid("reader")
                yield part, logits

    def _parts(self, pairs: Iterable[Pair]) -> Iterator[_Part]:
        questions: dict[str, list[int]] = {}
        for text, about_text in groupby(pairs, key=lambda pair: pair[1]):
            passage = self._input.passage(text)
            for pair in about_text:
                if pair[0] not in questions:
                    questions[pair[0]] = self._input.question(pair[0])
                for window in self._input.windows(questions[pair[0]], passage):
                    yield _Part(pair, passage, window)


def load_reader(name: str = "reader", options: Options = Options()) -> SpanReader:  # noqa: B008 - frozen
    """Load a reader, a model for extractive question answering, once per process.

    :raises InputError: if the model is unknown, damaged, not a reader, or cannot run with these options.
    """
    return load_once("reader", find_model(name), options, SpanReader)


def _chunks(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    chunk: list[_Part] = []
    size = 0
    for part in parts:
        if chunk and size + len(part.window.tokens) > CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(part)
        size += len(part.window.tokens)
    if chunk:
        yield chunk


def probability(margin: float, line: tuple[float, float]) -> float:
    """Return sigmoid(slope x margin + offset) for a (slope, offset) of a :class:`Calibration`."""
    value = line[0] * margin + line[1]
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
