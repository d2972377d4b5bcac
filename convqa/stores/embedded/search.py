"""One committed state of a collection, which reads and ranks passages. Immutable and thread-safe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Filter, Floats, Ids, Integers, SearchParams, check_weights
from convqa.stores.checks import stored_analyzer
from convqa.stores.content import meta_terms
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.database import Database
from convqa.stores.embedded.files import NUMBER, Array, array
from convqa.stores.embedded.forward import Forward
from convqa.stores.embedded.index import CandidateIndex
from convqa.stores.embedded.manifest import CollectionManifest
from convqa.stores.embedded.vectors import Vectors
from convqa.stores.embedded.weights import Weights
from convqa.text.analysis import weigh
from convqa.text.bm25 import K1, B, bm25
from convqa.workers.threads import threads

MIN_CANDIDATES = 300
"""tantivy's top 300 hold the exact top 100 at k1/b .82/.68, 99.1 % at .9/.4, 98.6 % at 2/1
(docs/benchmarks/engines.md)."""

FIELDS = ("text", "title", "all")
"""``all`` is title and text together."""

_MAX_THREADS = 4
"""Maximum threads per batch. More would wait for the GIL, which only tantivy releases."""

_PASSAGES_PER_THREAD = 100_000
"""In smaller collections tantivy's share is so short that threads cost more than they gain."""

_CACHED_TERMS = 100_000
_CACHED_FILTERS = 8
"""Each with 8 bytes per accepted passage."""

_TOLERANCE = 1 + 1e-5
"""Tolerance for tantivy's scores, whose last bits differ between equal passages."""

_SCANNED = 500
"""Passages that a scan reads at a time."""


def frequencies_name(generation: int) -> str:
    """Return the name of the file with the document frequency of each term in each of ``FIELDS``."""
    return f"frequencies.{generation}"


class Snapshot:
    """Memory-maps its files, which are read on demand."""

    def __init__(self, folder: Path, manifest: CollectionManifest) -> None:
        data = folder / manifest.data
        sizes = manifest.files
        self.manifest = manifest
        self.folder = folder
        self.data = data
        self.analyzer = stored_analyzer(manifest.language, manifest.analyzer, f"collection {folder}")
        self.database = Database(data)
        self.deleted = np.zeros(manifest.numbers, bool)
        self.deleted[self.database.deleted(manifest.generation)] = True
        self.frequencies = array(data, frequencies_name(manifest.generation), NUMBER, sizes).reshape(len(FIELDS), -1)
        self._forward = Forward(data, sizes)
        self.candidates = CandidateIndex(data)
        self.vectors: Vectors | None = None
        if manifest.vectors is not None:
            reader = Weights if manifest.vectors.encoder.sparse else Vectors
            self.vectors = reader(data, manifest.vectors, sizes, self.deleted)
        self._term = lru_cache(_CACHED_TERMS)(self.database.term)
        # Turns share filters.
        self._vectors_accepted = lru_cache(_CACHED_FILTERS)(self._accepted_rows)

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Open the current state; try again if a commit or replacement interferes."""
        while True:
            before = manifests.identity(folder)
            try:
                with manifests.reading(folder):
                    snapshot = cls(folder, CollectionManifest.read(folder))
            except (InputError, StoreDamaged):
                if manifests.identity(folder) == before:
                    raise
            else:
                if manifests.identity(folder) == before:
                    return snapshot

    def number(self, id: str) -> int | None:
        """Return a live passage's number, None if the id is unknown."""
        for number in self.database.numbers(id):
            if number < self.manifest.numbers and not self.deleted[number]:
                return number
        return None

    def fetch(self, ids: Ids) -> list[Passage | None]:
        numbers = [self.number(id) for id in ids]
        contents = self.database.contents([number for number in numbers if number is not None])
        return [None if number is None else _passage(contents[number]) for number in numbers]

    def scan(self) -> Iterator[Passage]:
        """Iterate over live passages in the order of adding."""
        return self._passages(np.flatnonzero(~self.deleted))

    def without_vectors(self) -> Iterator[Passage]:
        """Iterate over live passages without a vector, in the order of adding."""
        missing = ~self.deleted
        if self.vectors is not None:
            missing[self.vectors.passages()] = False
        return self._passages(np.flatnonzero(missing))

    def _passages(self, numbers: Integers) -> Iterator[Passage]:
        for start in range(0, len(numbers), _SCANNED):
            some = numbers[start : start + _SCANNED].tolist()
            contents = self.database.contents(some)
            for number in some:
                yield _passage(contents[number])

    def vectors_of(self, ids: Ids) -> list[Floats | None]:
        if self.vectors is None:
            return [None] * len(ids)
        return self.vectors.of([self.number(id) for id in ids])

    def term(self, token: str) -> int | None:
        """Return the number of a token's term, None if no committed passage has had it."""
        number = self._term(token)
        return number if number is not None and number < self.frequencies.shape[1] else None

    def weights(self, query: Query, params: SearchParams) -> dict[str, float]:
        """Return the weights of a query's tokens that occur in the collection.

        :raises ValueError: for weights that are not finite, or too large.
        """
        weights = weigh(query, self.analyzer, params.stopwords)
        check_weights(weights.values(), query, negative=True)
        return {token: weights[token] for token in sorted(weights) if self.term(token) is not None}

    def search(
        self,
        weighed: Sequence[Mapping[str, float]],
        k: int,
        params: SearchParams,
        texts: int,
    ) -> list[Ranking]:
        """Rank the best ``k`` passages for each query, given as :meth:`weights`."""
        k = min(k, self.manifest.numbers)  # tantivy allocates memory for ``k`` hits

        def rank(weights: Mapping[str, float]) -> Ranking:
            if not weights or k < 1:
                return Ranking()
            numbers, scores = self._scored(weights, k, params)
            return self._ranking(numbers, scores, k, texts)

        useful = 1 + self.manifest.numbers // _PASSAGES_PER_THREAD
        workers = min(_MAX_THREADS, threads(), useful, len(weighed))
        if workers < 2:
            return [rank(weights) for weights in weighed]
        # A new pool per batch, because threads do not survive a fork.
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(rank, weighed))

    def search_vectors(
        self,
        matrix: Floats,
        k: int,
        texts: int,
        filter: Filter,
    ) -> list[Ranking]:
        """Rank the best ``k`` passages with vectors for each row."""
        if self.vectors is None or k < 1:
            return [Ranking()] * len(matrix)
        rows = self._vectors_accepted(meta_terms(filter)) if filter else None
        best = self.vectors.best(matrix, min(k, self.manifest.numbers), rows)
        return [self._ranking(numbers, scores, k, texts) for numbers, scores in best]

    def _accepted_rows(self, terms: tuple[tuple[str, ...], ...]) -> Integers:
        """Return the vector rows of the passages that a filter of these terms accepts."""
        assert self.vectors is not None
        numbers = self.candidates.accepted(terms)
        accepted = np.zeros(self.manifest.numbers, bool)
        accepted[numbers[numbers < self.manifest.numbers]] = True
        return self.vectors.rows_of(accepted)

    def _scored(
        self,
        weights: Mapping[str, float],
        k: int,
        params: SearchParams,
    ) -> tuple[Integers, Floats]:
        """Return the numbers and exact positive scores of enough candidates to include all that tie with the k-th."""
        query = self.candidates.query(weights, params.title_weight, params.filter)
        wanted = limit = max(MIN_CANDIDATES, 3 * k)
        while True:
            numbers, found_scores = self.candidates.best(query, limit)
            # The index may hold passages of a later commit, and holds deleted ones.
            live = numbers < self.manifest.numbers
            live[live] = ~self.deleted[numbers[live]]
            # Sorted by number, so that the forward file is read sequentially.
            ranks = np.flatnonzero(live)
            ranks = ranks[numbers[ranks].argsort()]
            scores = self._scores(numbers[ranks], weights, params)
            all_found = len(numbers) < limit
            if all_found or (len(ranks) >= wanted and suffice(scores, ranks, found_scores, k)):
                positive = scores > 0
                return numbers[ranks][positive], scores[positive]
            limit *= 2

    def _scores(
        self,
        numbers: Integers,
        weights: Mapping[str, float],
        params: SearchParams,
    ) -> Floats:
        """Return the exact scores of passages."""
        if len(numbers) == 0:
            return np.empty(0, np.float32)
        k1 = K1 if params.k1 is None else params.k1
        b = B if params.b is None else params.b
        terms = np.array([self.term(token) for token in weights], np.int64)
        values = np.fromiter(weights.values(), float, len(weights))
        slots = np.zeros(self.frequencies.shape[1], np.uint16)
        slots[terms] = np.arange(1, len(terms) + 1)
        text, title = self._forward.frequencies(numbers, slots, len(terms))
        lengths = self._forward.lengths[numbers]

        def score(field: str, counts: Array, lengths: Array) -> NDArray[np.float64]:
            passages, average = self._totals[field]
            df = self.frequencies[FIELDS.index(field), terms]
            return bm25(counts, values, df, lengths, passages, average, k1, b)

        if params.title_weight is None:
            scores = score("all", text + title, lengths["text"] + lengths["title"])
        else:
            scores = score("text", text, lengths["text"])
            scores += params.title_weight * score("title", title, lengths["title"])
        return scores.astype(np.float32)

    @cached_property
    def _totals(self) -> dict[str, tuple[int, float]]:
        """The number of passages with a token in a field, and the average number of its tokens there."""
        lengths = self._forward.lengths[~self.deleted]
        columns = {"text": lengths["text"], "title": lengths["title"], "all": lengths["text"] + lengths["title"]}
        totals = {}
        for field, column in columns.items():
            count = int(np.count_nonzero(column))
            totals[field] = (count, int(column.sum()) / count if count else 1.0)
        return totals

    def _ranking(
        self,
        numbers: Integers,
        scores: Floats,
        k: int,
        texts: int,
    ) -> Ranking:
        """Return the best ``k`` of candidates that include all that tie with the k-th."""
        if len(scores) == 0:
            return Ranking()
        if not np.isfinite(scores).all():
            raise ValueError("a score is NaN or infinite")
        if len(scores) > k:
            tied_or_better = scores >= np.partition(scores, -k)[-k]
            numbers, scores = numbers[tied_or_better], scores[tied_or_better]
        rows = list(zip(scores.tolist(), self._forward.ids(numbers), numbers.tolist(), strict=True))
        rows.sort(reverse=True)
        ranked_scores, ranked_ids, ranked = zip(*rows[:k], strict=True)
        contents = self.database.contents(ranked[:texts])
        passages = [_passage(contents[number]) for number in ranked[:texts]]
        return Ranking(Hit.of_rounded(ranked_ids, ranked_scores, passages))


def _passage(content: bytes) -> Passage:
    return Passage.from_json(orjson.loads(content))


def suffice(
    exact: Floats,
    ranks: Integers,
    found_scores: Sequence[float],
    k: int,
) -> bool:
    """Return whether no passage beyond the candidates can tie with the k-th best.

    :param exact, ranks: the exact score of each candidate, and its rank among tantivy's hits.
    :param found_scores: tantivy's scores of all hits, descending.
    """
    kth = -np.partition(-exact, k - 1)[k - 1]
    if kth <= 0:
        return True
    last_tied = found_scores[int(ranks[exact == kth].max())]
    return bool(exact.min() < kth and last_tied > found_scores[-1] * _TOLERANCE)
