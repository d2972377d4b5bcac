"""Spans that answer a question: extractive readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from convqa.errors import InputError, WorkError, reason_of
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.reader_input import LEAST_TOKENS, PassageTokens, ReaderInput, Window
from convqa.models.kinds.reader_spans import Band, Found
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Model, Network, Options, Pair

CHUNK = 131_072
"""Tokens of the windows that are laid out at a time: what bounds a reader's memory, however much there is to read."""

Number = Annotated[float, Field(allow_inf_nan=False)]


class Calibration(BaseModel, frozen=True):
    """Margins to scores between 0 and 1: sigmoid(slope x margin + offset), each as (slope, offset).

    ``answer``: the F1 to expect of a span, which grows with its margin; ``null``: the probability that nothing answers,
    which falls as the best margin grows.
    """

    answer: tuple[Annotated[Number, Field(gt=0)], Number] = (1.0, 0.0)
    null: tuple[Annotated[Number, Field(lt=0)], Number] = (-1.0, 0.0)


class Settings(BaseModel):
    """The fields of a manifest that only readers have."""

    calibration: Calibration = Calibration()


@dataclass(frozen=True, slots=True)
class PairReading:
    """The spans of a passage, best first and without overlaps, and the margin of the best: -infinity without any."""

    spans: tuple[Found, ...]
    margin: float


_NOTHING = PairReading((), -math.inf)


class _Part(NamedTuple):
    pair: Pair
    passage: PassageTokens
    window: Window


class SpanReader(Model):
    """Finds the spans of passages that answer questions. Safe to call from several threads.

    A span's margin = logit(start) + logit(end) - those of the sequence's first token, ``[CLS]``, which stand for
    "nothing answers": a number that can be compared across windows and passages.
    """

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.calibration = folder.settings(Settings, network.settings).calibration
        self.max_tokens = network.tokenizer.max_tokens
        self._network = network
        if self.max_tokens < LEAST_TOKENS:
            raise InputError(
                f"{folder.path}: takes {self.max_tokens} tokens at a time; a reader wants {LEAST_TOKENS} or more."
            )
        try:
            self._input = ReaderInput(network.tokenizer.inner, self.max_tokens)
            self._input.passage("\U0010fffd")
        except Exception as error:  # the library raises Exception itself
            raise InputError(
                f"{folder.path}: its tokenizer cannot read every text ({reason_of(error)}). Copy the model again."
            ) from error

    def read(self, pairs: Sequence[Pair], most: int, longest: int = 30) -> list[PairReading]:
        """The findings for each pair (question, passage), in order; a pair that comes several times is read once.

        :param most: spans of a passage at most. :param longest: tokens of a span at most.
        :raises WorkError: if the model makes something that is no number.
        """
        made = dict.fromkeys(pairs, _NOTHING)
        # Like lengths run together; questions on the same passage share its tokens.
        ordered = sorted(made, key=lambda pair: (len(pair[1]), pair[1], pair[0]))
        for pair, parts in groupby(self._scored(ordered), key=lambda scored: scored[0].pair):
            band: Band | None = None
            for part, logits in parts:
                # No span is longer than a window.
                band = band or Band(part.passage, min(longest, self.max_tokens))
                window = part.window
                starts, ends = logits[:, window.at : window.at + window.last - window.first]
                band.add(window.first, starts, ends, float(logits[:, 0].sum()))
            assert band is not None
            spans = band.best(max(most, 1))
            if spans:
                made[pair] = PairReading(tuple(spans[:most]), spans[0].margin)
        return [made[pair] for pair in pairs]

    def expected(self, margin: float) -> float:
        """The F1 to expect of a span of this margin."""
        return probability(margin, self.calibration.answer)

    def null(self, margin: float) -> float:
        """How likely nothing answers, where the best span over all passages has this margin; 1 for -infinity."""
        return probability(margin, self.calibration.null)

    def _scored(self, pairs: Iterable[Pair]) -> Iterator[tuple[_Part, Array]]:
        for chunk in _chunks(self._parts(pairs)):
            made = self._network.run([part.window.tokens for part in chunk])
            for part, outputs in zip(chunk, made, strict=True):
                logits = np.stack(outputs)
                if logits.shape != (2, len(part.window.tokens)) or not np.isfinite(logits).all():
                    raise WorkError(f"the reader {self.name!r} made no numbers; try: convqa models check {self.name}")
                yield part, logits

    def _parts(self, pairs: Iterable[Pair]) -> Iterator[_Part]:
        questions: dict[str, list[int]] = {}
        for text, some in groupby(pairs, key=lambda pair: pair[1]):
            passage = self._input.passage(text)
            for pair in some:
                if pair[0] not in questions:
                    questions[pair[0]] = self._input.question(pair[0])
                for window in self._input.windows(questions[pair[0]], passage):
                    yield _Part(pair, passage, window)


def load_reader(name: str = "reader", options: Options = Options()) -> SpanReader:  # noqa: B008 - frozen
    """The reader of that name, loaded once per process: a model with a head for extractive question answering.

    :raises InputError: if there is none, if it is damaged, no reader, or cannot be run as the options ask.
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
    """sigmoid(slope x margin + offset), for the line (slope, offset) of a :class:`Calibration`."""
    value = line[0] * margin + line[1]
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
