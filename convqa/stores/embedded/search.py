"""One committed state of a collection, which reads and ranks passages. Immutable and thread-safe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import tantivy
from numpy.typing import NDArray

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Filter, Floats, Ids, Integers, SearchParams, check_weights
from convqa.stores.checks import stored_analyzer
from convqa.stores.content import meta_terms
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.files import Blob, array
from convqa.stores.embedded.forward import Forward
from convqa.stores.embedded.index import CandidateIndex
from convqa.stores.embedded.lookup import FIELDS, NUMBER, Lookup, Vocabulary, numbers_of
from convqa.stores.embedded.manifest import Manifest
from convqa.stores.embedded.vectors import Vectors
from convqa.stores.embedded.weights import Weights
from convqa.text.analysis import weigh
from convqa.text.bm25 import K1, B, bm25
from convqa.workers.threads import threads

FEWEST_CANDIDATES = 300
"""tantivy's top 300 hold the exact top 100 at k1/b .82/.68, 99.1 % at .9/.4, 98.6 % at 2/1
(docs/benchmarks/engines.md)."""

_MOST_THREADS = 4
"""Maximum threads per batch. More would wait for the GIL, which only tantivy releases."""

_PASSAGES_PER_THREAD = 100_000
"""In smaller collections tantivy's share is so short that threads cost more than they gain."""

_FILTERS = 8
"""Number of cached filters, each with 8 bytes per accepted passage."""

_SAME = 1 + 1e-5
"""Tolerance for tantivy's scores, whose last bits differ between equal passages."""


class Snapshot:
    """Memory-maps its files, which are read on demand."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        data, generation, sizes = folder / manifest.data, manifest.generation, manifest.files
        self.manifest = manifest
        self.folder = folder
        self.data = data
        self.analyzer = stored_analyzer(manifest.language, manifest.analyzer, f"collection {folder}")
        self._passages = Blob(data, "passages", sizes)
        self._ids = Blob(data, "ids", sizes)
        self._forward = Forward(data, sizes)
        self._lengths = array(data, "lengths", NUMBER, sizes).reshape(-1, 2)
        self.vocabulary = Vocabulary(data, generation, sizes)
        self.lookup = Lookup.read(data, "ids", generation, sizes)
        self.deleted = array(data, f"deleted.{generation}", NUMBER, sizes)
        self.candidates = CandidateIndex(data)
        kept = manifest.vectors
        self.vectors = None if kept is None else (Weights if kept.encoder.sparse else Vectors)(data, kept)
        # Turns share filters.
        rows = partial(_rows_of, self.candidates, self.vectors, manifest.numbers)
        self._accepted = lru_cache(_FILTERS)(rows)

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Open the current state; try again if a commit or replacement interferes."""
        while True:
            before = manifests.identity(folder)
            try:
                return cls(folder, Manifest.read(folder))
            except (InputError, StoreDamaged):
                if manifests.identity(folder) == before:
                    raise
            except (OSError, ValueError) as error:
                if manifests.identity(folder) == before:
                    raise manifests.unreadable(folder, error) from error

    def fetch(self, id: str) -> Passage | None:
        number = self.number(id)
        return None if number is None else self._passage(number)

    def number(self, id: str) -> int | None:
        """Return a live passage's number, None if the id is unknown."""
        return next(numbers_of(id, self.lookup, self._ids), None)

    def scan(self) -> Iterator[Passage]:
        """Iterate over live passages in the order of adding."""
        deleted = set(self.deleted.tolist())
        for number in range(self.manifest.numbers):
            if number not in deleted:
                yield self._passage(number)

    def without_vectors(self) -> Iterator[Passage]:
        """Iterate over live passages without a vector, in the order of adding."""
        done = np.zeros(self.manifest.numbers, bool)
        done[self.deleted] = True
        if self.vectors is not None:
            done[self.vectors.passages()] = True
        for number in np.flatnonzero(~done).tolist():
            yield self._passage(number)

    def vectors_of(self, ids: Ids) -> list[Floats | None]:
        if self.vectors is None:
            return [None] * len(ids)
        numbers = [self.number(id) for id in ids]
        return self.vectors.of(np.array([-1 if number is None else number for number in numbers], np.int64))

    def _passage(self, number: int) -> Passage:
        return Passage.from_json(orjson.loads(self._passages[number]))

    def weights(self, query: Query, params: SearchParams) -> dict[str, float]:
        """Return the weights of a query's tokens that occur in the collection.

        :raises ValueError: for weights that are not finite, or too large.
        """
        weights = weigh(query, self.analyzer, params.stopwords)
        check_weights(weights.values(), query, negative=True)
        return {token: weights[token] for token in sorted(weights) if self.vocabulary.term(token) is not None}

    def search(self, weighed: Sequence[Mapping[str, float]], k: int, params: SearchParams, texts: int) -> list[Ranking]:
        """Rank the best ``k`` passages for each query, given as :meth:`weights`."""
        k = min(k, self.manifest.numbers)  # tantivy allocates memory for ``k`` hits
        useful = 1 + self.manifest.numbers // _PASSAGES_PER_THREAD
        count = min(_MOST_THREADS, threads(), useful, len(weighed))

        def share(first: int) -> list[Ranking]:
            # Zero for each term, restored after each query.
            slots = np.zeros(len(self.vocabulary), np.uint16)
            return [
                self._ranking(*self._scored(weights, k, params, slots), k, texts) if weights and k > 0 else Ranking()
                for weights in weighed[first::count]
            ]

        if count < 2:
            return share(0) if count else []
        # A new pool per batch, because threads do not survive a fork.
        with ThreadPoolExecutor(count) as pool:
            shares = list(pool.map(share, range(count)))
        return [shares[index % count][index // count] for index in range(len(weighed))]

    def search_vectors(self, matrix: Floats, k: int, texts: int, filter: Filter) -> list[Ranking]:
        """Rank the best ``k`` passages with vectors for each row."""
        if self.vectors is None or k < 1:
            return [Ranking()] * len(matrix)
        accepted = self._accepted(meta_terms(filter)) if filter else None
        best = self.vectors.best(matrix, min(k, self.manifest.numbers), accepted)
        return [self._ranking(numbers, scores, k, texts) for numbers, scores in best]

    def _scored(
        self, weights: Mapping[str, float], k: int, params: SearchParams, slots: NDArray[Any]
    ) -> tuple[Integers, Floats]:
        """Return the numbers and exact positive scores of enough candidates to include all that tie with the k-th."""
        terms = np.array([self.vocabulary.term(token) for token in weights], np.int64)
        query = self.candidates.query(weights, params.title_weight, params.filter)
        values = np.fromiter(weights.values(), float, len(weights))
        limit = max(FEWEST_CANDIDATES, 3 * k)
        while True:
            candidates = self._candidates(query, limit)
            slots[terms] = np.arange(1, len(terms) + 1)
            scores = self._scores(candidates.numbers, slots, terms, values, params).astype(np.float32)
            slots[terms] = 0
            if candidates.suffice(scores, k):
                return candidates.numbers[scores > 0], scores[scores > 0]
            limit = 2 * candidates.limit

    def _candidates(self, query: tantivy.Query, wanted: int) -> _Candidates:
        limit = wanted
        while True:
            numbers, scores = self.candidates.best(query, limit)
            # The index may hold passages that the manifest does not: of a later commit, or just deleted.
            live = numbers < self.manifest.numbers
            if len(self.deleted):
                indexes = np.minimum(np.searchsorted(self.deleted, numbers), len(self.deleted) - 1)
                live &= self.deleted[indexes] != numbers
            if np.count_nonzero(live) >= wanted or len(numbers) < limit:
                ranks = np.flatnonzero(live)
                # Sorted by number, so that the forward file is read sequentially.
                ranks = ranks[numbers[ranks].argsort()]
                return _Candidates(numbers[ranks], ranks, scores, limit)
            limit *= 2

    def _scores(
        self, numbers: Integers, slots: NDArray[Any], terms: Integers, weights: NDArray[Any], params: SearchParams
    ) -> NDArray[np.float64]:
        k1 = K1 if params.k1 is None else params.k1
        b = B if params.b is None else params.b
        lengths = self._lengths[numbers]

        def score(field: str, frequencies: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.float64]:
            passages, average = self._totals[field]
            df = self.vocabulary.frequencies[FIELDS.index(field)][terms]
            return bm25(frequencies, weights, df, lengths, passages, average, k1, b)

        text, title = self._forward.frequencies(numbers, slots, len(terms))
        if params.title_weight is None:
            return score("all", text + title, lengths.sum(axis=1))
        return score("text", text, lengths[:, 0]) + params.title_weight * score("title", title, lengths[:, 1])

    @cached_property
    def _totals(self) -> dict[str, tuple[int, float]]:
        """The number of passages with a token in a field, and the average number of its tokens there."""
        lengths = np.delete(self._lengths, self.deleted, axis=0)
        columns = {"text": lengths[:, 0], "title": lengths[:, 1], "all": lengths.sum(axis=1)}
        counts = {field: int(np.count_nonzero(column)) for field, column in columns.items()}
        return {field: (count, int(columns[field].sum()) / count if count else 1.0) for field, count in counts.items()}

    def _ranking(self, numbers: Integers, scores: Floats, k: int, texts: int) -> Ranking:
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        cut = min(k, len(ranked))
        if cut == 0:
            return Ranking()
        end = int(np.searchsorted(-ranked, -ranked[cut - 1], side="right"))
        best, values = numbers[order[:end]], ranked[:end]
        for index in np.flatnonzero(~np.isfinite(values)):
            Hit(self._ids[best[index]].decode(), values[index])  # raises NotFinite
        if texts:
            return Ranking(self._hits(best, values, cut, texts))
        return Ranking.later(lambda: self._hits(best, values, cut))

    def _hits(self, numbers: Integers, scores: Floats, count: int, texts: int = 0) -> tuple[Hit, ...]:
        """Return the first ``count`` hits of passages by descending score, the first ``texts`` with their passages."""
        try:
            ids = [id.decode() for id in self._ids.rows(numbers)]
            rows = list(zip(scores.tolist(), ids, numbers.tolist(), strict=True))
            if (scores[1:] == scores[:-1]).any():
                rows.sort(key=itemgetter(0, 1), reverse=True)
            passages = [self._passage(number) for _, _, number in rows[: min(texts, count)]]
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise manifests.damaged(self.folder, error) from error
        return Hit.of_rounded((row[1] for row in rows[:count]), (row[0] for row in rows), passages)


def _rows_of(
    candidates: CandidateIndex, vectors: Vectors | None, count: int, terms: tuple[tuple[str, ...], ...]
) -> Integers:
    """Return the vector rows of those of ``count`` passages that a filter of these terms accepts."""
    assert vectors is not None
    numbers = candidates.accepted(terms)
    chosen = np.zeros(count, bool)
    chosen[numbers[numbers < count]] = True
    return vectors.rows_of(chosen)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Live passages among the best ``limit`` hits of tantivy, their ``ranks``, and the ``scores`` of all hits."""

    numbers: Integers
    ranks: Integers
    scores: Sequence[float]
    limit: int

    def suffice(self, exact: Floats, k: int) -> bool:
        """Return whether no other passage can tie with the k-th best."""
        if len(self.scores) < self.limit:
            return True
        kth = -np.partition(-exact, k - 1)[k - 1]
        if kth <= 0:
            return True
        tied = self.scores[int(self.ranks[exact == kth].max())]
        return bool(exact.min() < kth and tied > self.scores[-1] * _SAME)
