"""Write to a new index, or to a collection that is being searched.

Passages are added to and deleted from a clone of the current version, which replaces it when it is complete. Vectors
alone are written to the current version: searches see them after the refresh of ``commit``.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from threading import Lock

import orjson

from convqa.domain import Passage
from convqa.errors import InputError, RunError, WorkError, counted
from convqa.stores.base import Encoder, Ids, Matrix
from convqa.stores.checks import checked_vectors, refuse_other_encoder
from convqa.stores.content import checksum, content, digest, duplicate, terms_of
from convqa.stores.elasticsearch.index import IndexedDocument, ServerIndex, look_up, put_in_place, slices, unfinished
from convqa.stores.elasticsearch.lock import CollectionLock
from convqa.stores.elasticsearch.schema import VectorMeta, Version, document_id
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.stores.elasticsearch.vectors import vector_document, vector_mappings, vector_settings
from convqa.text.analysis import Analyzer, analyzer
from convqa.validation import shorten

logger = logging.getLogger(__name__)

SENDING_THREADS = 4
"""Threads that analyze and send passages."""

PASSAGES_PER_REQUEST = 1000

_DELETED_PER_REQUEST = 500
_VECTORS_PER_REQUEST = 500


class BulkWriter:
    """Adds and deletes passages and vectors of an index that has no alias; ``finish`` verifies the result.

    Vectors are kept in memory until ``commit``.
    """

    def __init__(
        self,
        index: ServerIndex,
        version: Version,
    ) -> None:
        self.index = index
        self._version = version
        self._analyzer = analyzer(version.meta.language)
        self._executor = ThreadPoolExecutor(SENDING_THREADS, thread_name_prefix="bulk")
        self._counting = Lock()
        self._count = version.meta.count
        self._digests = int(version.meta.checksum, 16)
        self._repeated = 0
        self._has_deleted = False
        self._vectors = version.meta.vectors
        self._vector_documents: dict[str, IndexedDocument] = {}

    def add(self, passages: Iterable[Passage]) -> None:
        """Send passages; memory holds a few requests.

        :raises InputError: for an existing id with other content.
        """
        rest = iter(passages)
        requests: deque[Future[None]] = deque()
        while batch := list(islice(rest, PASSAGES_PER_REQUEST)):
            requests.append(self._executor.submit(self._create, batch))
            if len(requests) > SENDING_THREADS + 1:
                requests.popleft().result()
        for request in requests:
            request.result()

    def delete(self, ids: Ids) -> None:
        """Delete passages with their vectors. Unknown ids are ignored."""
        for piece in slices(ids, _DELETED_PER_REQUEST):
            id_of = {document_id(id): id for id in piece}
            sources = self.index.documents(list(id_of), ("passage",), realtime=True)
            for key, source in sources.items():
                self._digests -= digest(content(Passage.from_json(source["passage"])))
                self._vector_documents.pop(key, None)
            documents = [IndexedDocument(key, id_of[key]) for key in sources]
            self.index.send("delete", documents)
            if self._vectors is not None and self._vectors.commits:
                self.index.vectors.send("delete", documents)
            self._count -= len(sources)
            self._has_deleted = self._has_deleted or len(sources) > 0

    def add_vectors(
        self,
        ids: Ids,
        matrix: Matrix,
        encoder: Encoder,
    ) -> None:
        name = f"collection {self.index.target}"
        rows = checked_vectors(matrix, len(ids), encoder, f"{name}, passages {shorten(list(ids))}")
        vectors = self._vectors or VectorMeta(encoder)
        refuse_other_encoder(vectors.encoder, encoder, name)
        keys = [document_id(id) for id in ids]
        sources = self.index.documents(keys, ("passage.meta",), realtime=True)
        for id, key in zip(ids, keys, strict=True):
            if key not in sources:
                raise InputError(f"there is no passage {id!r} in {name}: add passages before their vectors.")
        self._vectors = vectors
        for id, key, row in zip(ids, keys, rows, strict=True):
            meta = sources[key].get("passage", {}).get("meta", {})
            self._vector_documents[key] = vector_document(key, id, row, meta)

    def commit(self) -> Version:
        """Refresh the index; raise a ``WorkError`` unless it has as many passages as were sent."""
        self.index.refresh()
        visible = self.index.count()
        if visible != self._count:
            raise WorkError(
                f"collection {self.index.target}: {self._count} passages were sent, and Elasticsearch has {visible}. "
                f"Did something else write to {self.index.name}? Run the command again."
            )
        total = checksum(self._digests)
        meta = replace(self._version.meta, count=self._count, checksum=total, vectors=self._commit_vectors())
        return replace(self._version, name=self.index.name, meta=meta)

    def finish(self) -> Version:
        """Complete the index and return its version."""
        is_new = not self._version.meta.ready
        version = BulkWriter.commit(self)
        meta = replace(version.meta, ready=True)
        self._executor.shutdown()
        if self._has_deleted:
            # Deleted documents count in scores. An index retains them for a while; its clone can merge them away.
            with_deleted = self.index
            self.index = with_deleted.clone(meta.vectors is not None)
            with_deleted.delete()
        if self._has_deleted or is_new:
            self.index.merge()
        if self._repeated:
            logger.warning("%s came again with the same id and content: kept once", counted(self._repeated, "passages"))
        self.index.write(meta)
        return replace(version, name=self.index.name, meta=meta)

    def close(self) -> None:
        """Drop what was added, and the index."""
        self._executor.shutdown(cancel_futures=True)
        self.index.discard()

    def _commit_vectors(self) -> VectorMeta | None:
        """Send vectors and let searches see them. Return the metadata for the index of passages."""
        meta = self._vectors
        if meta is None:
            return None
        index = self.index.vectors
        if not meta.commits:
            # A load that ended before its first commit may have left an index.
            index.delete()
            index.create(vector_settings(self._version), vector_mappings(meta.encoder))
        for piece in slices(list(self._vector_documents.values()), _VECTORS_PER_REQUEST):
            index.send("index", piece)
        self._vector_documents = {}
        index.refresh()
        self._vectors = replace(meta, count=index.count(), commits=meta.commits + 1)
        return self._vectors

    def _create(self, batch: Sequence[Passage]) -> None:
        """Analyze passages, index the new ones and count them; refuse an id with two contents."""
        passages: dict[str, Passage] = {}
        for passage in batch:
            known = passages.setdefault(document_id(passage.id), passage)
            if known != passage:
                raise duplicate(known.text, passage)
        request_id = uuid.uuid4().hex
        documents = [passage_document(self._analyzer, *item, request_id) for item in passages.items()]
        existing = self.index.send("create", documents)
        sources = self.index.documents(existing, ("request", "passage"), realtime=True)
        for key, source in sources.items():
            if source.get("request") == request_id:
                # An earlier attempt of this request has made it, and got no answer.
                continue
            known = Passage.from_json(source["passage"])
            passage = passages.pop(key)
            if known != passage:
                raise duplicate(known.text, passage)
        digests = sum(digest(content(passage)) for passage in passages.values())
        with self._counting:
            self._count += len(passages)
            self._repeated += len(batch) - len(passages)
            self._digests += digests


class Change(BulkWriter):
    """A transaction: any number of adds, deletes and vectors, then ``commit`` or ``close``, which drops them.

    :param version: the version when the collection was opened.
    :raises WorkError: if another process is writing to the collection.
    :raises RunError: if it has changed since.
    """

    def __init__(self, target: IndexTarget, version: Version) -> None:
        self._lock = CollectionLock(target)
        try:
            current = current_version(target, version)
            for index in unfinished(target):
                index.delete()
        except BaseException:
            self._lock.release()
            raise
        self._original = ServerIndex(target, version.name)
        super().__init__(self._original, current)

    def add(self, passages: Iterable[Passage]) -> None:
        self._clone()
        super().add(passages)

    def delete(self, ids: Ids) -> None:
        self._clone()
        super().delete(ids)

    def commit(self) -> Version:
        """Make all changes visible, and end the transaction. Return the new version."""
        if self.index is self._original:
            self._lock.check()
            # Cloning has blocked writes.
            self.index.configure({"blocks.write": None})
            meta = replace(self._version.meta, vectors=self._commit_vectors())
            self.index.write(meta)
            version = replace(self._version, meta=meta)
        else:
            version = self.finish()
            index, self.index = self.index, self._original
            # From here on the alias may refer to the new index, so close() keeps both.
            put_in_place(index, self._original, version.replicas, self._lock)
        self.close()
        return version

    def close(self) -> None:
        """End the transaction and drop what was not committed."""
        try:
            if self.index is not self._original:
                super().close()
        finally:
            self._lock.release()

    def _clone(self) -> None:
        if self.index is self._original:
            self.index = self._original.clone(self._version.meta.vectors is not None)


def current_version(target: IndexTarget, version: Version) -> Version:
    """Return the version of a collection, with its present settings. :raises RunError: if it is another one."""
    found = look_up(target)
    current = Version.of(*found) if found else None
    if current is None or current.stamp != version.stamp:
        raise RunError(
            f"collection {target} was changed or indexed anew since it was opened. Start again: one run must not mix "
            "two collections."
        )
    return current


def passage_document(
    words: Analyzer,
    key: str,
    passage: Passage,
    request_id: str,
) -> IndexedDocument:
    source = {
        "pid": passage.id,
        "tokens": " ".join(words.tokens(passage.context) + words.tokens(passage.text)),
        "meta": terms_of(passage.meta),
        "passage": orjson.Fragment(content(passage).rstrip()),
        "request": request_id,
    }
    return IndexedDocument(key, passage.id, source)
