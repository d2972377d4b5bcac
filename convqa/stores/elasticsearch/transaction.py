"""Adds, deletes and vectors in a collection that is searched meanwhile: one transaction.

Passages are added to and deleted from a clone of the version that is searched, which takes its place when it is whole.
Vectors alone are written to the index that is searched: no search sees them before the refresh of ``commit``, and one
that was cut off in it has lost nothing, as the same vectors come again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.domain import Passage
from convqa.errors import ConvqaError, RunError
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.elasticsearch.index import Index, look_up
from convqa.stores.elasticsearch.lock import Lock
from convqa.stores.elasticsearch.schema import Version
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.vectors import VectorWriter
from convqa.stores.elasticsearch.versions import cloned, configure, put, remove, sweep
from convqa.stores.elasticsearch.writer import Writer


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
            sweep(target)
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
