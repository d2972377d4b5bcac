"""An Anserini index as a read-only store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import NoReturn

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import WorkError
from convqa.stores.anserini.index import LuceneIndex, fingerprint
from convqa.stores.anserini.search import AnseriniSearcher
from convqa.stores.base import Encoder, Ids, Info, SearchParams, refuse_encoder, refuse_unknown
from convqa.text.bm25 import K1, B
from convqa.workers.threads import threads

CAPABILITIES = frozenset({"k1", "b", "stopwords"})
LANGUAGE = "en"
ANALYZER = "anserini-en"


class AnseriniCollection:
    """An Anserini index in a folder. Searching is thread-safe.

    Order and scores are SimpleSearcher's: ties are set 1e-6 apart (from Lucene 9 on), by ascending id.

    :raises InputError: if the folder has no readable index, or one without texts.
    :raises StoreDamaged: if files are missing or corrupt.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._name = f"the Anserini index {folder}"
        # The checksum first: if the index changes meanwhile, the next opening notices.
        checksum = fingerprint(folder) or ""
        self._index: LuceneIndex | None = LuceneIndex(folder)
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
        """Return the description. ``checksum`` changes when the passages are indexed again."""
        return self._info

    def check(self, params: SearchParams) -> None:
        refuse_unknown(params, self._info, self._name)

    def search(
        self,
        queries: Sequence[Query],
        k: int,
        params: SearchParams,
        texts: int = 20,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b default to .82 and .68."""
        self.check(params)
        index = self._open_index()
        k1 = K1 if params.k1 is None else params.k1
        b = B if params.b is None else params.b
        searcher = AnseriniSearcher(index, k1, b)

        def rank(query: Query) -> Ranking:
            with index.in_use():
                matches = searcher.rank(query, k, params.stopwords) if k else []
                documents = index.documents()
                passages = [index.passage(match.number, documents) for match in matches[:texts]]
                pairs = zip_longest(matches, passages)
                return Ranking(tuple(Hit(match.id, match.score, passage) for match, passage in pairs))

        return list(_threads().map(rank, queries))

    def search_vectors(self, matrix: object, k: int, encoder: Encoder, *_: object, **__: object) -> NoReturn:  # noqa: ARG002
        """:raises InputError: always, because there are no vectors."""
        refuse_encoder(encoder, self._info, self._name)
        raise AssertionError("an Anserini index has no vectors here")

    def fetch(self, ids: Ids) -> list[Passage | None]:
        index = self._open_index()
        with index.in_use():
            numbers = [index.number(id) for id in ids]
            return [None if number is None else index.passage(number) for number in numbers]

    def scan(self) -> Iterator[Passage]:
        index = self._open_index()
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

    def _open_index(self) -> LuceneIndex:
        index = self._index
        if index is None:
            raise WorkError(f"{self._name} is closed")
        return index


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the pool of the process. Java never forgets a thread that called it."""
    return ThreadPoolExecutor(threads())
