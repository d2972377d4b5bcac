"""An Anserini index as a store: searched and read, never changed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import NoReturn

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged, WorkError
from convqa.stores.anserini.index import Index, fingerprint
from convqa.stores.anserini.search import Search
from convqa.stores.base import Encoder, Ids, Info, SearchParams, refuse_encoder, refuse_unknown
from convqa.text.bm25 import K1, B
from convqa.workers.threads import threads

CAPABILITIES = frozenset({"k1", "b", "stopwords", "prf"})
LANGUAGE = "en"
ANALYZER = "anserini-en"


class Anserini:
    """An Anserini index in a folder. Searches from many threads at once are safe.

    Rankings are SimpleSearcher's, order and scores: equal scores are made different by 1e-6 (in an index of Lucene 9
    and later), and the ids of such ties ascend.

    :raises InputError: if the folder has no index that can be read, or one without the texts of its passages.
    :raises StoreDamaged: if files of it are missing or not as they were written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._name = f"the Anserini index {folder}"
        checksum = fingerprint(folder)
        if checksum is None:
            raise StoreDamaged(f"{self._name} cannot be read: it went away while it was opened.")
        self._index: Index | None = Index(folder)
        self._searches: dict[tuple[float, float], Search] = {}
        self._lock = threading.Lock()
        self._info = Info(
            engine="anserini",
            count=self._index.count,
            language=LANGUAGE,
            analyzer=ANALYZER,
            fields=("contents",),
            checksum=checksum,
            capabilities=CAPABILITIES,
        )

    def info(self) -> Info:
        """``checksum`` names the index, not the passages: the same passages indexed again have another."""
        return self._info

    def check(self, params: SearchParams) -> None:
        refuse_unknown(params, self._info, self._name)
        index = self._state()
        if params.prf is not None and not (index.has_vectors or index.has_json):
            raise InputError(
                f"{self._name} cannot search with prf: it keeps neither term vectors nor JSON. Index the passages "
                "again with Anserini's option -storeDocvectors, or leave prf out."
            )

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b default to .82 and .68; ``prf`` is RM3."""
        self.check(params)
        index = self._state()
        search = self._search(params)

        def rank(query: Query) -> Ranking:
            with index.in_use():
                found = search.rank(query, k, params.stopwords, params.prf) if k else []
                documents = index.documents()
                passages = [index.passage(hit.number, documents) for hit in found[:texts]]
                shown = zip_longest(found, passages)
                return Ranking(tuple(Hit(hit.id, hit.score, passage) for hit, passage in shown))

        if len(queries) < 2:
            return [rank(query) for query in queries]
        return list(_threads().map(rank, queries))

    def search_vectors(self, matrix: object, k: int, encoder: Encoder, *_: object, **__: object) -> NoReturn:  # noqa: ARG002
        """:raises InputError: always: there are no vectors."""
        refuse_encoder(encoder, self._info, self._name)
        raise AssertionError("an Anserini index has no vectors here")

    def fetch(self, ids: Ids) -> list[Passage | None]:
        index = self._state()
        with index.in_use():
            numbers = [index.number(id) for id in ids]
            return [None if number is None else index.passage(number) for number in numbers]

    def scan(self) -> Iterator[Passage]:
        index = self._state()
        with index.in_use():
            documents = index.documents()
            for number in index.numbers():
                yield index.passage(number, documents)

    def close(self) -> None:
        index, self._index = self._index, None
        if index is not None:
            index.close()

    @property
    def closed(self) -> bool:
        return self._index is None

    def _state(self) -> Index:
        index = self._index
        if index is None:
            raise WorkError(f"{self._name} is closed")
        return index

    def _search(self, params: SearchParams) -> Search:
        key = K1 if params.k1 is None else params.k1, B if params.b is None else params.b
        with self._lock:
            if key not in self._searches:
                self._searches[key] = Search(self._state(), *key)
            return self._searches[key]


@cache
def _threads() -> ThreadPoolExecutor:
    """For the whole process: Java remembers every thread that ever asked it."""
    return ThreadPoolExecutor(threads())
