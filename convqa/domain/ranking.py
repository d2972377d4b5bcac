"""Queries, rewrites and rankings."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

from convqa.domain.conversation import Named, Passage

_FLOAT32 = struct.Struct("f")


def float32(score: float) -> float:
    """Round to the nearest 32-bit float, the precision at which the official evaluator compares scores.

    >>> float32(15.0000001) == float32(15.0000002)
    True

    :raises OverflowError: if the number is too large for 32 bits.
    """
    return float(_FLOAT32.unpack(_FLOAT32.pack(score))[0])


@dataclass(frozen=True, slots=True)
class Query(Named):
    """A query for a store: raw words (the store analyzes them) and weighted history terms.

    ``weight`` is used when several queries of a rewrite are fused.
    """

    text: str
    terms: tuple[tuple[str, float], ...] = ()
    weight: float = 1.0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Query:
        terms = tuple((term, weight) for term, weight in data["terms"])
        return cls(data["text"], terms, data["weight"])


@dataclass(frozen=True, slots=True)
class Rewrite(Named):
    """``text`` is the self-contained question (run.json's Model_rewrite); ``queries`` are sent to the store.

    A rewrite without queries means that the user asked the passages nothing: nothing is searched. ``act`` says what the
    user did instead, such as "thanks" (:mod:`convqa.components.acts`).
    ``notes`` are counted in a run's summary, such as why a model's text was rejected.
    ``usage``: tokens of the prompt and of the completion, as a language model's server reports them.
    """

    text: str
    queries: tuple[Query, ...]
    notes: tuple[str, ...] = ()
    usage: tuple[int, ...] = field(default=(), compare=False)
    act: str = ""

    @classmethod
    def unchanged(cls, question: str, *notes: str) -> Rewrite:
        """Return a rewrite whose text and only query are the user's question."""
        return cls(question, (Query(question),), notes)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rewrite:
        queries = tuple(Query.from_json(query) for query in data["queries"])
        return cls(
            data["text"],
            queries,
            tuple(data.get("notes", ())),
            tuple(data.get("usage", ())),
            data.get("act", ""),
        )


class NotFinite(ValueError):
    """A score is NaN or infinite: the component that made it is broken, for all items."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage id with its score, which is rounded to float32. The passage is attached on request.

    :raises NotFinite: if the score is NaN or infinite.
    """

    id: str
    score: float
    passage: Passage | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.score):
            raise NotFinite(f"the score of passage {self.id!r} is {self.score}: scores must be finite numbers")
        rounded = float32(self.score)
        if rounded != self.score or type(self.score) is not float:
            object.__setattr__(self, "score", rounded)

    def to_json(self) -> list[Any]:
        if self.passage is None:
            return [self.id, self.score]
        return [self.id, self.score, self.passage.to_json()]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Hit:
        passage = Passage.from_json(data[2]) if len(data) > 2 else None
        return cls(data[0], data[1], passage)

    @classmethod
    def of_rounded(
        cls, ids: Iterable[str], scores: Iterable[float], passages: Iterable[Passage | None] = ()
    ) -> tuple[Hit, ...]:
        """Return hits of scores that are already finite and rounded, three times as fast.

        :param passages: the passages of the first hits.
        """
        hits = []
        for id, score, passage in zip(ids, scores, chain(passages, repeat(None)), strict=False):
            hit = object.__new__(cls)
            _set_id(hit, id)
            _set_score(hit, score)
            _set_passage(hit, passage)
            hits.append(hit)
        return tuple(hits)


# A slot's descriptor bypasses the frozen check.
_set_id = vars(Hit)["id"].__set__
_set_score = vars(Hit)["score"].__set__
_set_passage = vars(Hit)["passage"].__set__


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits by score descending, ties by id (bytes) descending: the order of trec_eval and of the official MRR."""

    hits: tuple[Hit, ...] = ()

    @classmethod
    def of(cls, hits: Sequence[Hit]) -> Ranking:
        """Sort hits into a ranking.

        >>> [hit.id for hit in Ranking.of([Hit("a", 1.0), Hit("b", 1.0), Hit("c", 2.0)]).hits]
        ['c', 'b', 'a']
        """
        # UTF-8 keeps the order of code points, so comparing strings equals comparing their bytes.
        ordered = sorted(hits, key=lambda hit: (hit.score, hit.id), reverse=True)
        return cls(tuple(ordered))

    def passages(self, count: int | None = None) -> list[Passage]:
        """Return the passages of the first ``count`` hits, or of all, that have one."""
        return [hit.passage for hit in self.hits[:count] if hit.passage is not None]

    def by_id(self) -> dict[str, Passage]:
        """Return the passages by id."""
        return {passage.id: passage for passage in self.passages()}

    def texts(self) -> dict[str, str]:
        """Return the texts of the passages by id."""
        return {passage.id: passage.text for passage in self.passages()}

    def trimmed(self, kept: Collection[str], named: int) -> Ranking:
        """Return the ranking with passages only on ``kept`` ids. The first ``named`` hits keep title and URL."""
        hits = []
        for index, hit in enumerate(self.hits):
            passage = hit.passage
            if passage is not None and hit.id not in kept:
                has_name = index < named and (passage.title or passage.url)
                hit = Hit(hit.id, hit.score, Passage(hit.id, "", passage.title, passage.url) if has_name else None)
            hits.append(hit)
        return Ranking(tuple(hits))

    def to_json(self) -> list[Any]:
        return [hit.to_json() for hit in self.hits]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Ranking:
        return cls(tuple(Hit.from_json(hit) for hit in data))
