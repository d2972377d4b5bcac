"""Adds, deletes and vectors in a collection that is searched meanwhile: one transaction.

Passages are added to and deleted from a clone of the version that is searched, which takes its place when it is whole.
Vectors alone are written to the index that is searched: no search sees them before the refresh of ``commit``, and one
that was cut off in it has lost nothing, as the same vectors come again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.domain import Passage
from convqa.errors import ConvqaError, RunError
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.index import Index, look_up
from convqa.stores.elasticsearch.lock import Lock
from convqa.stores.elasticsearch.schema import Meta, Version, vectors_of
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.vectors import VectorWriter
from convqa.stores.elasticsearch.writer import Writer

_GRACE = 1.0
"""Seconds in which searches that have found an old version may end."""


class Change:
    """One transaction: any number of adds, deletes and vectors, then ``commit`` or ``close``, which drops them.

    :param version: what the alias meant when the collection was opened.
    :raises WorkError: if another process is writing to the collection.
    :raises RunError: if the alias means another index by now.
    """

    def __init__(self, target: Target, version: Version) -> None:
        self._index = Index(target, version.name)
        self._vectors = VectorWriter(self._index, version.meta.vectors)
        self._clone: Writer | None = None
        self._lock = Lock(target)
        try:
            found = look_up(target)
            if found is None or Version.of(*found).mark != version.mark:
                raise RunError(f"collection {target} was changed or indexed anew since it was opened: start again.")
            self._version = Version.of(*found)
        except BaseException:
            self._lock.release()
            raise

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; one that is there already, word for word, is skipped.

        :raises InputError: for an id that is there with another content.
        """
        self._cloned().add(passages)

    def delete(self, ids: Sequence[str]) -> None:
        self._cloned().delete(ids)

    def add_vectors(
        self,
        ids: Sequence[str],
        matrix: NDArray[np.floating[Any]],
        encoder: Encoder,
        options: VectorOptions | None = None,
    ) -> None:
        """See :class:`convqa.stores.base.WritableStore`."""
        if self._clone is None:
            self._vectors.add(ids, matrix, encoder, options)
        else:
            self._clone.add_vectors(ids, matrix, encoder, options)

    def commit(self) -> Version:
        """Make all that was added and deleted visible, and end the transaction. Returns what is searched now.

        :raises WorkError: if the server has not what was sent, or the lock was taken over.
        """
        if self._clone is None:
            self._lock.check()
            # It has been blocked since it was cloned.
            configure(self._index, {"blocks.write": None})
            meta = replace(self._version.meta, vectors=self._vectors.commit())
            self._index.write(meta)
            version = replace(self._version, meta=meta)
        else:
            meta = self._clone.finish()
            self._clone.close()
            # From here on it may be what the alias means.
            index, self._clone = self._clone.index, None
            put(index, self._index, self._version.replicas, self._lock)
            version = replace(self._version, name=index.name, meta=meta)
        self.close()
        return version

    def close(self) -> None:
        """End; what was not committed is dropped."""
        try:
            if self._clone is not None:
                self._clone.close()
                # What stays is removed by the next writer.
                with suppress(ConvqaError, RunError):
                    remove(self._clone.index)
                self._clone = None
        finally:
            self._lock.release()

    def _cloned(self) -> Writer:
        if self._clone is None:
            self._clone = Writer(cloned(self._index, self._version.meta), self._version.meta)
            self._vectors.move(self._clone.vectors)
        return self._clone


def new_name(target: Target) -> str:
    """The name of a version: ``NAME-YYYYMMDDHHMMSS-xxxx``."""
    return f"{target.index}-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


def cloned(index: Index, meta: Meta, settings: Mapping[str, Any] | None = None) -> Index:
    """A version like another, with its vectors, that nobody searches yet."""
    clone = index.clone(new_name(index.target), settings)
    if meta.vectors is not None:
        Index(index.target, vectors_of(index.name)).clone(vectors_of(clone.name))
    return clone


def put(index: Index, old: Index | None, replicas: int, lock: Lock) -> None:
    """Put a whole version behind its collection's alias, in the place of an old one, by one call; then remove that.

    :raises WorkError: if the lock was taken over.
    """
    target = index.target
    if replicas:
        configure(index, {"number_of_replicas": replicas})
    actions: list[dict[str, Any]] = [{"add": {"index": index.name, "alias": target.index}}]
    if old is not None:
        actions.append({"remove": {"index": old.name, "alias": target.index}})
    lock.check()
    ask(target, lambda known: known.indices.update_aliases(actions=actions))
    if old is not None:
        time.sleep(_GRACE)
        # What stays is removed by the next writer.
        with suppress(ConvqaError, RunError):
            remove(old)


def configure(index: Index, settings: Mapping[str, Any]) -> None:
    """Settings of a version and its vectors."""
    name = f"{index.name},{vectors_of(index.name)}"
    ask(
        index.target,
        lambda known: known.indices.put_settings(index=name, settings=settings, ignore_unavailable=True),
    )


def remove(index: Index) -> None:
    """Remove a version and its vectors."""
    Index(index.target, f"{index.name},{vectors_of(index.name)}").delete()
