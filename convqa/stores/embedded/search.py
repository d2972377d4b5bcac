"""One committed state of a collection, which ranks passages. Immutable and thread-safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import orjson

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Filter, Floats, Integers, SearchParams, check_weights
from convqa.stores.checks import stored_analyzer
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.database import Database
from convqa.stores.embedded.files import Mask
from convqa.stores.embedded.manifest import CollectionManifest
from convqa.stores.embedded.postings import Postings, meta_token
from convqa.stores.embedded.vectors import Vectors
from convqa.stores.embedded.weights import Weights
from convqa.text.analysis import weigh

_CACHED_TERMS = 100_000
_SCORES_PER_BLOCK = 64
_SMALLEST = np.finfo(np.float32).smallest_subnormal


class Snapshot:
    """Memory-maps its files, which are read on demand."""

    def __init__(self, folder: Path, manifest: CollectionManifest) -> None:
        data = folder / manifest.data
        self.manifest = manifest
        self.analyzer = stored_analyzer(manifest.language, manifest.analyzer, f"collection {folder}")
        self.database = Database(data, manifest)
        deleted = self.database.deleted()
        self.live = ~deleted
        self._postings = Postings(data, manifest.files, self.live)
        self.vectors: Vectors | None = None
        if manifest.vectors is not None:
            reader = Weights if manifest.vectors.encoder.sparse else Vectors
            self.vectors = reader(data, manifest.vectors, manifest.files, deleted)
        self._term = lru_cache(_CACHED_TERMS)(self.database.term)

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
        k = min(k, self.manifest.numbers)
        if not weights or k < 1:
            return Ranking()
        terms = {number: weights[token] for token in weights if (number := self._term(token)) is not None}
        scores = self._postings.scores(terms, params)
        if params.filter:
            scores[~self.accepted(params.filter)] = 0
        numbers = np.flatnonzero(~(scores < _floor(scores, k)))
        return self.ranking(numbers, scores[numbers], k, texts)

    def accepted(self, filter: Filter | None) -> Mask:
        """Return whether a filter accepts a passage, by number."""
        groups = []
        for name, values in (filter or {}).items():
            terms = [self._term(meta_token(name, value)) for value in values]
            groups.append([term for term in terms if term is not None])
        return self._postings.accepted(groups)

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
        rows = list(zip(scores.tolist(), self._postings.ids(numbers), numbers.tolist(), strict=True))
        rows.sort(reverse=True)
        ranked_scores, ranked_ids, ranked = zip(*rows[:k], strict=True)
        return Ranking(Hit.of_rounded(ranked_ids, ranked_scores, self.passages(ranked[:texts])))


def _floor(scores: Floats, k: int) -> np.float32:
    """Return a positive lower bound of the k-th best score, below which a passage is no hit.

    The k-th largest maximum of blocks is one, and takes less time than the k-th largest score.
    """
    blocks = len(scores) // _SCORES_PER_BLOCK
    if blocks < k:
        return _SMALLEST
    maxima = scores[: blocks * _SCORES_PER_BLOCK].reshape(blocks, -1).max(axis=1)
    kth: np.float32 = np.partition(maxima, -k)[-k]
    return max(_SMALLEST, kth)
