"""The writing half of every store: one transaction, dropped when it fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from convqa.domain import Passage
from convqa.stores.base import Encoder, Ids, Matrix, Transaction, VectorOptions


class Writing:
    """The writing half of a store: a transaction begins with the first change.

    An add, delete or commit that raises drops everything since the last commit.
    """

    _writer: Transaction | None = None

    def _begin(self) -> Transaction:
        """A transaction of the engine."""
        raise NotImplementedError

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; one that is there already, word for word, is skipped.

        Memory does not grow with the passages, but for what is kept of each id and distinct token.

        :raises InputError: for an id that is there with another content.
        """
        with self._transaction() as writer:
            writer.add(passages)

    def delete(self, ids: Ids) -> None:
        with self._transaction() as writer:
            writer.delete(ids)

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        """See :class:`convqa.stores.base.WritableStore`. The texts stay as they are.

        :raises InputError: also for what is no vector of the encoder, or a precision that the engine lacks.
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
        """End a transaction that was not committed."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
