"""One committed state of a collection: reads passages and ranks them. Immutable, shared by threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import SearchParams
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.files import Blob, array
from convqa.stores.embedded.forward import Forward
from convqa.stores.embedded.index import CandidateIndex
from convqa.stores.embedded.lookup import HASH, NUMBER, Lookup, hashed
from convqa.stores.embedded.manifest import FieldTotals, Manifest
from convqa.stores.embedded.scoring import bm25
from convqa.stores.embedded.vocabulary import Vocabulary
from convqa.text.analysis import Analyzer, analyzer, weigh

DEFAULT_K1, DEFAULT_B = 0.82, 0.68
FEWEST_CANDIDATES = 300
"""tantivy's top 300 hold all of the exact top 100 at .82/.68, 99.1 % at .9/.4, 98.6 % at 2/1 (docs/benchmarks.md)."""


class Snapshot:
    """Opens by memory map; nothing is read before it is needed."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        generation = manifest.generation
        # A collection is born without files, as generation 0.
        sizes = manifest.files if generation else defaultdict[str, int](int)
        self.manifest = manifest
        self._folder = folder
        self.analyzer = _analyzer(folder, manifest)
        self._passages = Blob(folder, "passages", sizes)
        self._ids = Blob(folder, "ids", sizes)
        self._forward = Forward(folder, sizes)
        self._lengths = array(folder / "lengths", NUMBER, sizes["lengths"]).reshape(-1, 2)
        self.vocabulary = Vocabulary(folder, generation, sizes)
        self.lookup = Lookup(
            array(folder / f"ids.hashes.{generation}", HASH, sizes[f"ids.hashes.{generation}"]),
            array(folder / f"ids.numbers.{generation}", NUMBER, sizes[f"ids.numbers.{generation}"]),
        )
        self.deleted = array(folder / f"deleted.{generation}", NUMBER, sizes[f"deleted.{generation}"])
        self.candidates = CandidateIndex(folder)

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """The state that the manifest names; when a commit comes between, the next one.

        :raises InputError, StoreDamaged: see :meth:`Manifest.read`.
        """
        while True:
            manifest: Manifest | None = None
            try:
                manifest = Manifest.read(folder)
                return cls(folder, manifest)
            except StoreDamaged:
                if manifest is None or Manifest.read(folder).generation == manifest.generation:
                    raise
            except (OSError, KeyError, ValueError) as error:
                if manifest is None or Manifest.read(folder).generation == manifest.generation:
                    raise manifests.damaged(folder, error) from error

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

    def _passage(self, number: int) -> Passage:
        return Passage.from_json(orjson.loads(self._passages[number]))

    def search(self, query: Query, k: int, params: SearchParams, texts: int, slots: NDArray[Any]) -> Ranking:
        """Rank the best ``k`` passages. ``slots``: zeros, one for each term; zeros again when this returns."""
        weights = weigh(query, self.analyzer, params.stopwords)
        known = {token: term for token in sorted(weights) if (term := self.vocabulary.term(token)) is not None}
        if not known or k < 1:
            return Ranking()
        kept = {token: weights[token] for token in known}
        numbers = self._candidates(kept, max(FEWEST_CANDIDATES, 3 * k), params)
        terms = np.fromiter(known.values(), np.int64, len(known))
        slots[terms] = np.arange(1, len(terms) + 1)
        try:
            scores = self._scores(numbers, slots, terms, np.fromiter(kept.values(), float, len(kept)), params)
        finally:
            slots[terms] = 0
        return self._ranking(numbers, scores.astype(np.float32), k, texts)

    def _candidates(self, weights: Mapping[str, float], wanted: int, params: SearchParams) -> NDArray[np.int64]:
        query = self.candidates.query(weights, params.title_weight, params.filter)
        limit = wanted
        while True:
            found = self.candidates.best(query, limit)
            live = found[found < self.manifest.numbers]
            if len(self.deleted):
                places = np.minimum(np.searchsorted(self.deleted, live), len(self.deleted) - 1)
                live = live[self.deleted[places] != live]
            # The index may know passages that the manifest does not: of a later commit, or deleted just now.
            if len(live) >= wanted or len(found) < limit:
                return np.sort(live[:wanted])
            limit *= 2

    def _scores(
        self,
        numbers: NDArray[np.int64],
        slots: NDArray[Any],
        terms: NDArray[np.int64],
        weights: NDArray[np.float64],
        params: SearchParams,
    ) -> NDArray[np.float64]:
        k1 = DEFAULT_K1 if params.k1 is None else params.k1
        b = DEFAULT_B if params.b is None else params.b
        lengths = self._lengths[numbers]

        def score(field: str, frequencies: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.float64]:
            totals = self._totals(field)
            return bm25(frequencies, weights, self.vocabulary.df(field)[terms], lengths, totals, k1, b)

        text, title = self._forward.frequencies(numbers, slots, len(terms))
        if params.title_weight is None:
            return score("all", text + title, lengths.sum(axis=1))
        return score("text", text, lengths[:, 0]) + params.title_weight * score("title", title, lengths[:, 1])

    def _totals(self, field: str) -> FieldTotals:
        return self.manifest.totals[field]

    def _ranking(self, numbers: NDArray[np.int64], scores: NDArray[np.float32], k: int, texts: int) -> Ranking:
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        cut = min(k, int(np.count_nonzero(ranked > 0)))
        if cut == 0:
            return Ranking()
        end = int(np.searchsorted(-ranked, -ranked[cut - 1], side="right"))
        best = numbers[order[:end]]
        ids = [id.decode() for id in self._ids.rows(best)]
        rows = list(zip(ranked[:end].tolist(), ids, best.tolist(), strict=True))
        if (ranked[1:end] == ranked[: end - 1]).any():
            rows.sort(key=_by_score_and_id, reverse=True)
        shown = [Hit(id, score, self._passage(number)) for score, id, number in rows[: min(texts, cut)]]
        return Ranking((*shown, *[Hit(id, score) for score, id, _ in rows[len(shown) : cut]]))


def _by_score_and_id(row: tuple[float, str, int]) -> tuple[float, str]:
    return row[0], row[1]


def _analyzer(folder: Path, manifest: Manifest) -> Analyzer:
    found = analyzer(manifest.language)
    if found.name != manifest.analyzer:
        raise InputError(
            f"collection {folder} was analysed by {manifest.analyzer}; this version of convqa has {found.name}. "
            "Index its passages again with --replace."
        )
    return found


def search_all(snapshot: Snapshot, queries: Sequence[Query], k: int, params: SearchParams, texts: int) -> list[Ranking]:
    slots = np.zeros(len(snapshot.vocabulary), np.uint16)
    return [snapshot.search(query, k, params, texts, slots) for query in queries]
