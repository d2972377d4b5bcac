"""One committed state of a collection: reads passages and ranks them. Immutable, shared by threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import tantivy
from numpy.typing import NDArray

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import LARGEST_WEIGHT, Filter, Floats, Ids, Integers, SearchParams
from convqa.stores.checks import stored_analyzer
from convqa.stores.content import meta_terms
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.files import Blob, array
from convqa.stores.embedded.forward import Forward
from convqa.stores.embedded.index import CandidateIndex
from convqa.stores.embedded.lookup import FIELDS, NUMBER, Lookup, Vocabulary, hashed
from convqa.stores.embedded.manifest import Manifest
from convqa.stores.embedded.vectors import Vectors
from convqa.stores.embedded.weights import Weights
from convqa.text.analysis import weigh
from convqa.text.bm25 import K1, B, bm25
from convqa.workers.threads import threads

FEWEST_CANDIDATES = 300
"""tantivy's top 300 hold the exact top 100 at .82/.68, 99.1 % at .9/.4, 98.6 % at 2/1 (docs/benchmarks/engines.md)."""

_MOST_THREADS = 4
"""Threads that search a batch. More would wait for Python's lock, which only tantivy's part releases."""

_PASSAGES_PER_THREAD = 100_000
"""Below this size of the collection tantivy's part is so short that threads cost more than they gain."""

_FILTERS = 8
"""Filters that are remembered, each with 8 bytes for every passage that it lets through."""

_SAME = 1 + 1e-5
"""tantivy adds a passage's parts in no fixed order, so that equal passages may differ in the last bits."""


class Snapshot:
    """Opens by memory map; nothing is read before it is needed."""

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
        self._rows: dict[tuple[tuple[str, ...], ...], Integers] = {}

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """The state that the manifest names; when a commit or a replacement comes between, the next one."""
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
        """A live passage's number."""
        try:
            wanted, hash = id.encode(), hashed(id)
        except UnicodeEncodeError:
            return None
        return next((number for number in self.lookup.find(hash) if self._ids[number] == wanted), None)

    def scan(self) -> Iterator[Passage]:
        """Live passages in the order of adding."""
        deleted = set(self.deleted.tolist())
        for number in range(self.manifest.numbers):
            if number not in deleted:
                yield self._passage(number)

    def without_vectors(self) -> Iterator[Passage]:
        """Live passages that have no vector, in the order of adding."""
        done = np.zeros(self.manifest.numbers, bool)
        done[self.deleted] = True
        if self.vectors is not None:
            done[self.vectors.passages()] = True
        for number in np.flatnonzero(~done).tolist():
            yield self._passage(number)

    def vectors_of(self, ids: Ids) -> list[Floats | None]:
        """The vectors of live passages; None where there is none."""
        if self.vectors is None:
            return [None] * len(ids)
        numbers = [self.number(id) for id in ids]
        return self.vectors.of(np.array([-1 if number is None else number for number in numbers], np.int64))

    def _passage(self, number: int) -> Passage:
        return Passage.from_json(orjson.loads(self._passages[number]))

    def weights(self, query: Query, params: SearchParams) -> dict[str, float]:
        """The weights of a query's tokens that the collection knows.

        :raises ValueError: for weights that are no finite numbers, or too large.
        """
        weights = weigh(query, self.analyzer, params.stopwords)
        if not sum(map(abs, weights.values())) < LARGEST_WEIGHT:
            raise ValueError(f"the weights of a query's terms must be finite and below {LARGEST_WEIGHT:g}: {query}")
        return {token: weights[token] for token in sorted(weights) if self.vocabulary.term(token) is not None}

    def search(self, weighed: Sequence[Mapping[str, float]], k: int, params: SearchParams, texts: int) -> list[Ranking]:
        """Rank the best ``k`` passages for each query, given by its :meth:`weights`."""
        k = min(k, self.manifest.numbers)  # tantivy makes room for as many hits as are asked for
        useful = 1 + self.manifest.numbers // _PASSAGES_PER_THREAD
        count = min(_MOST_THREADS, threads(), useful, len(weighed))

        def share(first: int) -> list[Ranking]:
            # One for each term; zeros again after each query.
            slots = np.zeros(len(self.vocabulary), np.uint16)
            return [
                self._ranking(*self._scored(weights, k, params, slots), k, texts) if weights and k > 0 else Ranking()
                for weights in weighed[first::count]
            ]

        if count < 2:
            return share(0) if count else []
        # tantivy lets other threads work. Made for each batch: threads do not survive a fork.
        with ThreadPoolExecutor(count) as pool:
            shares = list(pool.map(share, range(count)))
        return [shares[place % count][place // count] for place in range(len(weighed))]

    def search_vectors(self, matrix: Floats, k: int, texts: int, filter: Filter) -> list[Ranking]:
        """Rank the best ``k`` of the passages that have vectors, for each row."""
        if self.vectors is None or k < 1:
            return [Ranking()] * len(matrix)
        accepted = self._accepted(self.vectors, filter) if filter else None
        found = self.vectors.best(matrix, min(k, self.manifest.numbers), accepted)
        return [self._ranking(numbers, scores, k, texts) for numbers, scores in found]

    def _accepted(self, vectors: Vectors, filter: Filter) -> Integers:
        """The rows of the vectors of the passages that a filter lets through; remembered, as turns share filters."""
        key = meta_terms(filter)
        rows = self._rows.get(key)
        if rows is None:
            numbers = self.candidates.accepted(filter)
            chosen = np.zeros(self.manifest.numbers, bool)
            chosen[numbers[numbers < self.manifest.numbers]] = True
            rows = vectors.rows_of(chosen)
            if len(self._rows) >= _FILTERS:
                self._rows.clear()
            self._rows[key] = rows
        return rows

    def _scored(
        self, weights: Mapping[str, float], k: int, params: SearchParams, slots: NDArray[Any]
    ) -> tuple[Integers, Floats]:
        """Numbers and exact scores above 0 of candidates, as many as are needed to know all that tie with the k-th."""
        terms = np.array([self.vocabulary.term(token) for token in weights], np.int64)
        query = self.candidates.query(weights, params.title_weight, params.filter)
        values = np.fromiter(weights.values(), float, len(weights))
        limit = max(FEWEST_CANDIDATES, 3 * k)
        while True:
            found = self._candidates(query, limit)
            slots[terms] = np.arange(1, len(terms) + 1)
            scores = self._scores(found.numbers, slots, terms, values, params).astype(np.float32)
            slots[terms] = 0
            if found.settle(scores, k):
                return found.numbers[scores > 0], scores[scores > 0]
            limit = 2 * found.asked

    def _candidates(self, query: tantivy.Query, wanted: int) -> _Candidates:
        limit = wanted
        while True:
            found, scores = self.candidates.best(query, limit)
            live = found < self.manifest.numbers
            if len(self.deleted):
                places = np.minimum(np.searchsorted(self.deleted, found), len(self.deleted) - 1)
                live &= self.deleted[places] != found
            # The index may know passages that the manifest does not: of a later commit, or deleted just now.
            if np.count_nonzero(live) >= wanted or len(found) < limit:
                kept = np.flatnonzero(live)
                # Sorted: the forward file is read from its beginning to its end.
                places = kept[found[kept].argsort()]
                return _Candidates(found[places], places, scores, limit)
            limit *= 2

    def _scores(
        self, numbers: Integers, slots: NDArray[Any], terms: Integers, weights: NDArray[Any], params: SearchParams
    ) -> NDArray[np.float64]:
        k1 = K1 if params.k1 is None else params.k1
        b = B if params.b is None else params.b
        lengths = self._lengths[numbers]

        def score(field: str, frequencies: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.float64]:
            totals = self.manifest.totals[field]
            df = self.vocabulary.frequencies[FIELDS.index(field)][terms]
            return bm25(frequencies, weights, df, lengths, totals.passages, totals.average, k1, b)

        text, title = self._forward.frequencies(numbers, slots, len(terms))
        if params.title_weight is None:
            return score("all", text + title, lengths.sum(axis=1))
        return score("text", text, lengths[:, 0]) + params.title_weight * score("title", title, lengths[:, 1])

    def _ranking(self, numbers: Integers, scores: Floats, k: int, texts: int) -> Ranking:
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        cut = min(k, len(ranked))
        if cut == 0:
            return Ranking()
        end = int(np.searchsorted(-ranked, -ranked[cut - 1], side="right"))
        best, values = numbers[order[:end]], ranked[:end]
        for place in np.flatnonzero(~np.isfinite(values)):
            Hit(self._ids[best[place]].decode(), values[place])  # raises
        if texts:  # is asked for by those who look
            return Ranking(self._hits(best, values, cut, texts))
        return Ranking.later(lambda: self._hits(best, values, cut))

    def _hits(self, numbers: Integers, scores: Floats, count: int, texts: int = 0) -> tuple[Hit, ...]:
        """The first ``count`` hits of passages by falling scores, the first ``texts`` of them with their passages."""
        try:
            ids = [id.decode() for id in self._ids.rows(numbers)]
            rows = list(zip(scores.tolist(), ids, numbers.tolist(), strict=True))
            if (scores[1:] == scores[:-1]).any():
                rows.sort(key=itemgetter(0, 1), reverse=True)
            passages = [self._passage(number) for _, _, number in rows[: min(texts, count)]]
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise manifests.damaged(self.folder, error) from error
        return Hit.of_rounded((row[1] for row in rows[:count]), (row[0] for row in rows), passages)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Passages that tantivy found, by number, and their ``places`` among the ``asked`` hits, whose scores are given."""

    numbers: Integers
    places: Integers
    scores: Sequence[float]
    asked: int

    def settle(self, exact: Floats, k: int) -> bool:
        """Whether no passage that was not found can tie with the k-th best."""
        if len(self.scores) < self.asked:
            return True
        kth = -np.partition(-exact, k - 1)[k - 1]
        if kth <= 0:
            return True
        tied = self.scores[int(self.places[exact == kth].max())]
        return bool(exact.min() < kth and tied > self.scores[-1] * _SAME)
