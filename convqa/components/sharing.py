"""Searches shared between runs: a store that caches rankings by the collection's content, query and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, cast

import orjson

from convqa.components.rankings import attach
from convqa.domain import Hit, Query, Ranking
from convqa.models.shared import Shared, shared
from convqa.stores import open_store
from convqa.stores.base import Encoder, Filter, Matrix, SearchParams, Store


def opened(collection: str | None) -> Store:
    """Return the store of a collection, with cached rankings in a process that shares results."""
    store, results = open_store(collection), shared()
    return store if results is None or not store.info().checksum else cast(Store, SharedStore(store, results))


class SharedStore:
    """A store with cached searches; other methods are the store's own."""

    def __init__(self, store: Store, results: Shared) -> None:
        self._store, self._results = store, results
        info = {name: value for name, value in asdict(store.info()).items() if name not in {"capabilities", "source"}}
        self._content = repr(info)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 0) -> list[Ranking]:
        def make(rows: list[int]) -> Sequence[Ranking]:
            return self._store.search([queries[row] for row in rows], k, params, 0)

        return self._cached([k, params], [orjson.dumps(query.to_json()) for query in queries], make, texts)

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 0, filter: Filter | None = None
    ) -> list[Ranking]:
        def make(rows: list[int]) -> Sequence[Ranking]:
            return self._store.search_vectors(matrix[rows], k, encoder, 0, filter or {})

        return self._cached([k, encoder, filter], [vector.tobytes() for vector in matrix], make, texts)

    def _cached(
        self, parameters: list[Any], inputs: list[bytes], make: Callable[[list[int]], Sequence[Ranking]], texts: int
    ) -> list[Ranking]:
        """Return the rankings of the inputs. They are cached without passages, which are fetched here."""
        rankings = self._results.each(f"{self._content} {parameters}", inputs, make, _dump, _load)
        return attach(rankings, texts, self._store.fetch)


def _dump(ranking: Ranking) -> bytes:
    return orjson.dumps([(hit.id, hit.score) for hit in ranking.hits])


def _load(data: bytes) -> Ranking:
    return Ranking(tuple(Hit(id, score) for id, score in orjson.loads(data)))
