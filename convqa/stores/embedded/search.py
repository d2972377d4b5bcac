"""One committed state of a collection, which ranks passages. Immutable and thread-safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np
import orjson

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Filter, Floats, Integers, SearchParams, check_weights
from convqa.stores.checks import stored_analyzer
from convqa.stores.content import meta_term
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.database import Database
from convqa.stores.embedded.files import BYTE, Mask, array
from convqa.stores.embedded.manifest import CollectionManifest, damaged
from convqa.stores.embedded.postings import Postings, meta_token
from convqa.stores.embedded.vectors import Vectors
from convqa.text.analysis import weigh

_CACHED_TERMS = 100_000


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
            self.vectors = Vectors(data, manifest.vectors.encoder.dimension, manifest.files, deleted)
        self._term = lru_cache(_CACHED_TERMS)(self.database.term)

    @classmethod
    def open(cls, folder: Path, verify: bool = False) -> Snapshot:
        """Open the current state; try again if a commit or replacement interferes.

        :param verify: read all files, and raise ``StoreDamaged`` if one is not as it was written.
        """
        while True:
            before = manifests.identity(folder)
            try:
                with manifests.reading(folder):
                    snapshot = cls(folder, CollectionManifest.read(folder))
                    if verify:
                        snapshot._verify(folder)
                    return snapshot
            except (InputError, StoreDamaged):
                if manifests.identity(folder) == before:
                    raise

    def _verify(self, folder: Path) -> None:
        files = self.manifest.files
        for name, expected in self.manifest.checksums.items():
            if crc32(array(folder / self.manifest.data, name, BYTE, files).data) != expected:
                raise damaged(folder, f"{name} does not match its checksum")
        ((problem,),) = self.database.rows("PRAGMA integrity_check(1)")
        if problem != "ok":
            raise damaged(folder, f"its database is inconsistent ({problem})")

    def passages(self, numbers: Sequence[int]) -> list[Passage]:
        """Return passages by number."""
        contents = self.database.contents(numbers)
        return [Passage.from_json(orjson.loads(contents[number])) for number in numbers]

    def weights(self, query: Query, params: SearchParams) -> dict[int, float]:
        """Return the weight of each term of a query that occurs in the collection, by the term's number.

        :raises ValueError: for weights that are not finite, negative, or too large.
        """
        weight_of = weigh(query, self.analyzer, params.stopwords)
        check_weights(weight_of.values(), query)
        weights = {}
        for token in sorted(weight_of):
            term = self._term(token)
            if term is not None:
                weights[term] = weight_of[token]
        return weights

    def search(
        self,
        weights: Mapping[int, float],
        k: int,
        params: SearchParams,
        texts: int,
    ) -> Ranking:
        """Rank the best ``k`` passages for a query, given as :meth:`weights`."""
        scores = self._postings.scores(weights, params)
        if params.filter:
            scores[~self.accepted(params.filter)] = 0
        numbers = np.flatnonzero(scores)
        return self.ranking(numbers, scores[numbers], k, texts)

    def accepted(self, filter: Filter | None) -> Mask:
        """Return whether a filter accepts a passage, by number."""
        groups = []
        for name, values in (filter or {}).items():
            terms = [self._term(meta_token(meta_term(name, value))) for value in values]
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
        if len(scores) > k:
            tied_or_better = scores >= np.partition(scores, -k)[-k]
            numbers, scores = numbers[tied_or_better], scores[tied_or_better]
        rows = list(zip(scores.tolist(), self._postings.ids(numbers), numbers.tolist(), strict=True))
        rows.sort(reverse=True)
        ranked_scores, ranked_ids, ranked = zip(*rows[:k], strict=True)
        return Ranking(Hit.of_rounded(ranked_ids, ranked_scores, self.passages(ranked[:texts])))
