"""The passages and terms of a collection, in SQLite. Rows are added and never changed.

A reader ignores rows that its manifest does not count, so it keeps the state that it opened while a writer adds others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from convqa.stores.embedded.files import Damage

NAME = "passages.sqlite"

_SCHEMA = """
PRAGMA page_size = 8192;
CREATE TABLE passages (number INTEGER PRIMARY KEY, id TEXT NOT NULL, checksum TEXT NOT NULL, content BLOB NOT NULL);
CREATE INDEX passages_by_id ON passages (id);
CREATE TABLE terms (number INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE);
CREATE TABLE deletions (number INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
"""
_MAPPED_BYTES = 1 << 40
"""SQLite maps at most its own limit, usually 2 GB, and reads the rest."""
_TIMEOUT_SECONDS = 60
"""Waiting time for another connection's commit, which takes a fraction of a second."""


def create(data: Path) -> None:
    """Create an empty database in a data folder."""
    connection = sqlite3.connect(data / NAME)
    connection.executescript(_SCHEMA)
    connection.close()


class Database:
    """Reader of a database. Thread-safe.

    :raises FileNotFoundError: if it is missing.
    """

    def __init__(self, data: Path) -> None:
        path = (data / NAME).absolute()
        path.stat()
        # Opened for writing, so that SQLite can undo the commit of a killed writer. It falls back to reading.
        self._connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",
            uri=True,
            timeout=_TIMEOUT_SECONDS,
            check_same_thread=False,
        )
        self._lock = Lock()
        self.rows(f"PRAGMA mmap_size = {_MAPPED_BYTES}")

    def __del__(self) -> None:
        # A closed store may still have a search in another thread, so the last reference closes the file.
        if hasattr(self, "_connection"):
            self._connection.close()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """:raises Damage: if the database is corrupt."""
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise Damage(f"{NAME} cannot be read ({error})") from error

    def numbers(self, id: str) -> list[int]:
        """Return the numbers of all passages that ever had an id, ascending."""
        try:
            found = self.rows("SELECT number FROM passages WHERE id = ? ORDER BY number", id)
        except UnicodeEncodeError:
            return []
        return [number for (number,) in found]

    def contents(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return the contents of passages by number."""
        if not numbers:
            return {}
        statement = "SELECT number, content FROM json_each(?) CROSS JOIN passages ON number = value"
        return dict(self.rows(statement, str(list(numbers))))

    def term(self, token: str) -> int | None:
        """Return a token's term number, None if it is unknown."""
        found = self.rows("SELECT number FROM terms WHERE token = ?", token)
        return found[0][0] if found else None

    def deleted(self, generation: int) -> list[int]:
        """Return the numbers of the passages that were deleted up to a generation."""
        return [number for (number,) in self.rows("SELECT number FROM deletions WHERE generation <= ?", generation)]


class DatabaseWriter(Database):
    """Adds rows to a database. Readers ignore them until the manifest counts them.

    :param passages, terms, generation: the committed ones. Rows beyond them are of a killed writer, and removed.
    """

    def __init__(
        self,
        data: Path,
        passages: int,
        terms: int,
        generation: int,
    ) -> None:
        super().__init__(data)
        # Unwritten pages stay in memory, because SQLite would lock readers out to write them before the commit.
        self.rows("PRAGMA cache_spill = OFF")
        self.rows("DELETE FROM passages WHERE number >= ?", passages)
        self.rows("DELETE FROM terms WHERE number >= ?", terms)
        self.rows("DELETE FROM deletions WHERE generation > ?", generation)

    def add_passages(self, rows: Iterable[tuple[int, str, str, bytes]]) -> None:
        """Add rows of number, id, checksum and content, and commit."""
        self._connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", rows)
        self._connection.commit()

    def add_terms(self, numbers: Mapping[str, int]) -> None:
        """Add terms: token -> number."""
        rows = ((number, token) for token, number in numbers.items())
        self._connection.executemany("INSERT INTO terms VALUES (?, ?)", rows)

    def delete(self, number: int, generation: int) -> None:
        self.rows("INSERT INTO deletions VALUES (?, ?)", number, generation)

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        """Drop uncommitted rows."""
        self._connection.close()
