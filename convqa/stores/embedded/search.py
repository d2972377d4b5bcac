"""One committed state of a collection, which ranks passages. Immutable and thread-safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import orjson

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Floats, Integers, SearchParams, check_weights
from convqa.stores.checks import stored_analyzer
from convqa.stores.content import meta_terms
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.database import Database
from convqa.stores.embedded.forward import Forward
from convqa.stores.embedded.index import CandidateIndex
from convqa.stores.embedded.manifest import CollectionManifest
from convqa.stores.embedded.vectors import Vectors
from convqa.stores.embedded.weights import Weights
from convqa.text.analysis import weigh

MIN_CANDIDATES = 300
"""tantivy's top 300 hold the exact top 100 at k1/b .82/.68, 99.1 % at .9/.4, 98.6 % at 2/1
(docs/benchmarks/engines.md)."""

_CACHED_TERMS = 100_000
_CACHED_FILTERS = 8
"""Each with 8 bytes per accepted passage."""

_TOLERANCE = 1 + 1e-5
"""Tolerance for tantivy's scores, whose last bits differ between equal passages."""


class Snapshot:
    """Memory-maps its files, which are read on demand."""

    def __init__(self, folder: Path, manifest: CollectionManifest) -> None:
        data = folder / manifest.data
        self.manifest = manifest
        self.analyzer = stored_analyzer(manifest.language, manifest.analyzer, f"collection {folder}")
        self.database = Database(data, manifest)
        deleted = self.database.deleted()
        self.live = ~deleted
        self._forward = Forward(data, manifest, self.live)
        self.candidates = CandidateIndex(data)
        self.vectors: Vectors | None = None
        if manifest.vectors is not None:
            reader = Weights if manifest.vectors.encoder.sparse else Vectors
            self.vectors = reader(data, manifest.vectors, manifest.files, deleted)
        self._term = lru_cache(_CACHED_TERMS)(self.database.term)
        # Turns share filters.
        self._accepted = lru_cache(_CACHED_FILTERS)(self.candidates.accepted)

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Open the current state; try again if a commit or replacement interferes."""
        while True:
            before = manifests.identity(folder)
            try:
                with manifests.reading(folder):
                    return cls(folder, CollectionManifest.read(folder))
            except (InputError, StoreDamaged):
                if manifests.identity(folder) == before:
                    raise

    def passages(self, numbers: Sequence[int]) -> list[Passage]:
        """Return passages by number."""
        contents = self.database.contents(numbers)
        return [Passage.from_json(orjson.loads(contents[number])) for number in numbers]

    def weights(self, query: Query, params: SearchParams) -> dict[str, float]:
        """Return the weights of a query's tokens that occur in the collection.

        :raises ValueError: for weights that are not finite, or too large.
        """
        weights = weigh(query, self.analyzer, params.stopwords)
        check_weights(weights.values(), query, negative=True)
        return {token: weights[token] for token in sorted(weights) if self._term(token) is not None}

    def search(
        self,
        weights: Mapping[str, float],
        k: int,
        params: SearchParams,
        texts: int,
    ) -> Ranking:
        """Rank the best ``k`` passages for a query, given as :meth:`weights`."""
        k = min(k, self.manifest.numbers)  # tantivy allocates memory for ``k`` hits
        if not weights or k < 1:
            return Ranking()
        query = self.candidates.query(weights, params.title_weight, meta_terms(params.filter or {}))
        terms = {number: weights[token] for token in weights if (number := self._term(token)) is not None}
        wanted = limit = max(MIN_CANDIDATES, 3 * k)
        while True:
            numbers, found_scores = self.candidates.best(query, limit)
            # The index may hold passages of a later commit, and holds deleted ones.
            live = numbers < self.manifest.numbers
            live[live] = self.live[numbers[live]]
            # Sorted by number, so that the forward file is read sequentially.
            ranks = np.flatnonzero(live)
            ranks = ranks[numbers[ranks].argsort()]
            scores = self._forward.scores(numbers[ranks], terms, params)
            all_found = len(numbers) < limit
            if all_found or (len(ranks) >= wanted and suffice(scores, ranks, found_scores, k)):
                positive = scores > 0
                return self.ranking(numbers[ranks][positive], scores[positive], k, texts)
            limit *= 2

    def vector_rows(self, terms: tuple[tuple[str, ...], ...]) -> Integers:
        """Return the vector rows of the passages that a filter of these terms accepts."""
        assert self.vectors is not None
        if not terms:
            return self.vectors.rows_of(self.live)
        numbers = self._accepted(terms)
        accepted = np.zeros(self.manifest.numbers, bool)
        accepted[numbers[numbers < self.manifest.numbers]] = True
        return self.vectors.rows_of(accepted)

    def ranking(
        self,
        numbers: Integers,
        scores: Floats,
        k: int,
        texts: int,
    ) -> Ranking:
        """Return the best ``k`` of candidates that include all that tie with the k-th."""
        if len(scores) == 0 or k < 1:
            return Ranking()
        if not np.isfinite(scores).all():
            raise ValueError("a score is NaN or infinite")
        if len(scores) > k:
            tied_or_better = scores >= np.partition(scores, -k)[-k]
            numbers, scores = numbers[tied_or_better], scores[tied_or_better]
        rows = list(zip(scores.tolist(), self._forward.ids(numbers), numbers.tolist(), strict=True))
        rows.sort(reverse=True)
        ranked_scores, ranked_ids, ranked = zip(*rows[:k], strict=True)
        return Ranking(Hit.of_rounded(ranked_ids, ranked_scores, self.passages(ranked[:texts])))


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
    kth = np.partition(exact, -k)[-k]
    if kth <= 0:
        return True
    last_tied = found_scores[int(ranks[exact == kth].max())]
    return bool(exact.min() < kth and last_tied > found_scores[-1] * _TOLERANCE)
