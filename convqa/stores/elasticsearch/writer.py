"""Write to a new index, or to a collection that is being searched.

Passages are added to and deleted from a clone of the current version, which replaces it when it is complete. Vectors
alone are written to the current version: searches see them after the refresh of ``commit``.
"""

from __future__ import annotations

import dataclasses
import logging
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import orjson

from convqa.domain import Passage
from convqa.errors import InputError, RunError, WorkError
from convqa.stores.base import Encoder, Ids, Matrix, VectorOptions
from convqa.stores.content import checksum, content, digest, duplicate, meta_term
from convqa.stores.elasticsearch.bulk import Document, slices
from convqa.stores.elasticsearch.index import ServerIndex, look_up, put_in_place, unfinished
from convqa.stores.elasticsearch.lock import CollectionLock
from convqa.stores.elasticsearch.schema import Meta, Version, document_id
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.stores.elasticsearch.vectors import VectorIndexWriter
from convqa.text.analysis import Analyzer, analyzer

logger = logging.getLogger(__name__)

SENDING_THREADS = 4
"""One more thread analyzes."""

PASSAGES_PER_REQUEST = 1000

MAX_ID_BYTES = 32_766

_DELETED_PER_REQUEST = 500


class Added(NamedTuple):
    """The result of a request: the number of new passages, of repeated ones, and the sum of the new ones' digests."""

    new: int
    repeated: int
    digests: int


class AnalyzedPassage(NamedTuple):
    """A passage to add, with its content and the document that is sent."""

    passage: Passage
    content: bytes
    document: Document


class IndexWriter:
    """Adds and deletes passages and vectors of an index that has no alias; ``finish`` verifies the result."""

    def __init__(self, index: ServerIndex, version: Version, threads: int = SENDING_THREADS) -> None:
        meta = version.meta
        self.index = index
        self.vectors = VectorIndexWriter(index, version)
        self._meta = meta
        self._analyzer = analyzer(meta.language)
        self._threads = threads
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="bulk")
        self._count = meta.count
        self._digests = int(meta.checksum, 16)
        self._repeated = 0
        self._has_deleted = False

    def add(self, passages: Iterable[Passage]) -> None:
        """Send passages; memory holds a few requests.

        :raises InputError: for an existing id with other content.
        """
        rest = iter(passages)
        requests: deque[Future[Added]] = deque()
        while batch := list(islice(rest, PASSAGES_PER_REQUEST)):
            request_id = uuid.uuid4().hex
            new = self._distinct(batch, request_id)
            requests.append(self._executor.submit(self._create, new, len(batch), request_id))
            if len(requests) > self._threads + 1:
                self._count_added(requests.popleft())
        for request in requests:
            self._count_added(request)

    def delete(self, ids: Ids) -> None:
        """Delete passages with their vectors; log how many ids are unknown."""
        deleted = 0
        for piece in slices(ids, _DELETED_PER_REQUEST):
            id_of = {document_id(id): id for id in piece}
            id_of.pop("", None)
            sources = self.index.documents(list(id_of), ("passage",), realtime=True)
            for source in sources.values():
                self._digests -= digest(content(Passage.from_json(source["passage"])))
            self.index.send("delete", [Document(key, id_of[key]) for key in sources])
            self.vectors.delete([id_of[key] for key in sources])
            deleted += len(sources)
        self._count -= deleted
        self._has_deleted = self._has_deleted or deleted > 0
        if deleted < len(ids):
            logger.warning(
                "%d of %d passages to delete are not in collection %s", len(ids) - deleted, len(ids), self.index.target
            )

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        self.vectors.add(ids, matrix, encoder, options)
        self.vectors.flush()

    def commit(self) -> Meta:
        """Refresh the index; raise a ``WorkError`` unless it has as many passages as were sent."""
        self.index.refresh()
        visible = self.index.count()
        if visible != self._count:
            raise WorkError(
                f"collection {self.index.target}: {self._count} passages were sent, and Elasticsearch has {visible}. "
                f"Did something else write to {self.index.name}? Run the command again."
            )
        return dataclasses.replace(
            self._meta, count=self._count, checksum=checksum(self._digests), vectors=self.vectors.commit()
        )

    def finish(self) -> Meta:
        """Complete the index and return its metadata."""
        is_new = not self._meta.ready
        meta = dataclasses.replace(self.commit(), ready=True)
        self._executor.shutdown()
        if self._has_deleted:
            # Deleted documents count in scores. An index retains them for a while; its clone can merge them away.
            with_deleted = self.index
            self.index = with_deleted.clone(meta.vectors is not None)
            with_deleted.delete()
        if self._has_deleted or is_new:
            self.index.merge()
        if self._repeated:
            logger.warning("%d passages came again with the same id and content: kept once", self._repeated)
        self.index.write(meta)
        return meta

    def close(self) -> None:
        """Drop what was added, and the index."""
        self._executor.shutdown(cancel_futures=True)
        self.index.discard()

    def _distinct(self, passages: Sequence[Passage], request_id: str) -> dict[str, AnalyzedPassage]:
        """Analyze passages, by key; refuse an id that comes with two texts."""
        distinct: dict[str, AnalyzedPassage] = {}
        for passage in passages:
            data = _content(passage)
            key = document_id(passage.id)
            if key not in distinct:
                document = passage_document(self._analyzer, key, passage, data, request_id)
                distinct[key] = AnalyzedPassage(passage, data, document)
            elif distinct[key].content != data:
                raise duplicate(distinct[key].passage.text, passage)
        return distinct

    def _create(self, new: dict[str, AnalyzedPassage], count: int, request_id: str) -> Added:
        """Index the new ones among passages; refuse a known id with another text."""
        existing = self.index.send("create", [passage.document for passage in new.values()])
        sources = self.index.documents(existing, ("request", "passage"), realtime=True)
        for key, source in sources.items():
            if source.get("request") == request_id:
                # An earlier attempt of this request has made it, and got no answer.
                continue
            known = new.pop(key)
            if content(Passage.from_json(source["passage"])) != known.content:
                raise duplicate(source["passage"]["text"], known.passage)
        digests = sum(digest(passage.content) for passage in new.values())
        return Added(len(new), count - len(new), digests)

    def _count_added(self, request: Future[Added]) -> None:
        added = request.result()
        self._count += added.new
        self._repeated += added.repeated
        self._digests += added.digests


class Change:
    """A transaction: any number of adds, deletes and vectors, then ``commit`` or ``close``, which drops them.

    :param version: the version when the collection was opened.
    :raises WorkError: if another process is writing to the collection.
    :raises RunError: if it has changed since.
    """

    def __init__(self, target: IndexTarget, version: Version) -> None:
        self._index = ServerIndex(target, version.name)
        self._vectors = VectorIndexWriter(self._index, version)
        self._clone: IndexWriter | None = None
        self._lock = CollectionLock(target)
        try:
            current = look_up(target)
            if current is None or Version.of(*current).stamp != version.stamp:
                raise RunError(f"collection {target} was changed or indexed anew since it was opened: start again.")
            self._version = Version.of(*current)
            for index in unfinished(target):
                index.delete()
        except BaseException:
            self._lock.release()
            raise

    def add(self, passages: Iterable[Passage]) -> None:
        self._cloned().add(passages)

    def delete(self, ids: Ids) -> None:
        self._cloned().delete(ids)

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        if self._clone is None:
            self._vectors.add(ids, matrix, encoder, options)
        else:
            self._clone.add_vectors(ids, matrix, encoder, options)

    def commit(self) -> Version:
        """Make all changes visible, and end the transaction. Return the new version."""
        if self._clone is None:
            self._lock.check()
            # Cloning has blocked writes.
            self._index.configure({"blocks.write": None})
            meta = dataclasses.replace(self._version.meta, vectors=self._vectors.commit())
            self._index.write(meta)
            version = dataclasses.replace(self._version, meta=meta)
        else:
            meta = self._clone.finish()
            index = self._clone.index
            # From here on the alias may refer to it.
            self._clone = None
            put_in_place(index, self._index, self._version.replicas, self._lock)
            version = dataclasses.replace(self._version, name=index.name, meta=meta)
        self.close()
        return version

    def close(self) -> None:
        """End the transaction and drop what was not committed."""
        try:
            if self._clone is not None:
                self._clone.close()
                self._clone = None
        finally:
            self._lock.release()

    def _cloned(self) -> IndexWriter:
        if self._clone is None:
            has_vectors = self._version.meta.vectors is not None
            self._clone = IndexWriter(self._index.clone(has_vectors), dataclasses.replace(self._version, replicas=0))
            self._vectors.move(self._clone.vectors)
        return self._clone


def _content(passage: Passage) -> bytes:
    """Return a passage's content; refuse one that cannot be stored."""
    data = content(passage)
    size = len(passage.id.encode())
    if size > MAX_ID_BYTES:
        raise InputError(
            f"passage {passage.id[:60]!r}... has an id of {size:,} bytes; Elasticsearch takes {MAX_ID_BYTES:,}. "
            "Shorten it."
        )
    return data


def passage_document(words: Analyzer, key: str, passage: Passage, data: bytes, request_id: str) -> Document:
    source = {
        "pid": passage.id,
        "tokens": " ".join(words.tokens(passage.title) + words.tokens(passage.text)),
        "meta": [meta_term(name, value) for name, value in passage.meta.items()],
        "passage": orjson.Fragment(data.rstrip()),
        "request": request_id,
    }
    return Document(key, passage.id, source)
