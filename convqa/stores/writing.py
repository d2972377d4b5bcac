"""Base class of writable stores: one transaction at a time, dropped on failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from convqa.domain import Passage
from convqa.stores.base import Encoder, Ids, Matrix, Transaction, VectorOptions


class Writing:
    """Writing methods of a store. The first change begins a transaction, which ``commit`` ends.

    An add, delete or commit that raises drops all changes since the last commit.
    """

    _writer: Transaction | None = None

    def _begin(self) -> Transaction:
        raise NotImplementedError

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; skip exact copies of stored ones.

        Memory grows only with the numbers of ids and distinct tokens.

        :raises InputError: for an id whose stored content differs.
        """
        with self._transaction() as writer:
            writer.add(passages)

    def delete(self, ids: Ids) -> None:
        with self._transaction() as writer:
            writer.delete(ids)

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        """See :class:`convqa.stores.base.WritableStore`.

        :raises InputError: also for vectors of the wrong shape, or options that the engine lacks.
        """
        with self._transaction() as writer:
            writer.add_vectors(ids, matrix, encoder, options)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        writer = self._writer = self._writer or self._begin()
        try:
            yield writer
        except BaseException:
            self._writer = None
            writer.close()
            raise

    def _drop(self) -> None:
        """Drop uncommitted changes."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
