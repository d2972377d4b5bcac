"""The passages and terms of a collection, in SQLite. Rows are added and never changed.

A reader ignores rows that its manifest does not count, so it keeps the state that it opened while a writer adds others.
"""

from __future__ import annotations

import sqlite3
from binascii import crc32
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from convqa.stores.embedded.files import Mask
from convqa.stores.embedded.manifest import CollectionManifest, damaged

NAME = "passages.sqlite"

_SCHEMA = """
PRAGMA page_size = 8192;
CREATE TABLE passages (number INTEGER PRIMARY KEY, id TEXT NOT NULL, crc32 INTEGER NOT NULL, content BLOB NOT NULL);
CREATE INDEX passages_by_id ON passages (id);
CREATE TABLE terms (number INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE);
CREATE TABLE deletions (number INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
"""
_LIVE = """
SELECT number FROM passages WHERE id = ? AND number < ? AND NOT EXISTS
(SELECT 1 FROM deletions WHERE deletions.number = passages.number AND generation <= ?)
"""
_CONTENTS = "SELECT number, passages.id, crc32, content FROM json_each(?) CROSS JOIN passages ON number = value"
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
    """Rows of a committed state: ``numbers`` passages and ``terms``, without the deletions of later generations.

    A thread-safe reader. :meth:`begin` makes it a writer, whose state includes the rows that it adds.

    :raises FileNotFoundError: if the file is missing.
    """

    def __init__(self, data: Path, manifest: CollectionManifest) -> None:
        self.numbers = manifest.numbers
        self.terms = manifest.terms
        self._generation = manifest.generation
        self._folder = data.parent if manifest.data else data
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
            self.close()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def number(self, id: str) -> int | None:
        """Return a live passage's number, None if the id is unknown."""
        try:
            found = self.rows(_LIVE, id, self.numbers, self._generation)
        except UnicodeEncodeError:
            return None
        return found[0][0] if found else None

    def contents(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return the contents of passages by number.

        :raises StoreDamaged: if one does not match its checksum.
        """
        contents = {}
        for number, id, checksum, content in self.rows(_CONTENTS, str(list(numbers))):
            if crc32(content) != checksum:
                raise damaged(self._folder, f"passage {id!r} does not match its checksum")
            contents[number] = content
        return contents

    def term(self, token: str) -> int | None:
        """Return a token's term number, None if it is unknown."""
        found = self.rows("SELECT number FROM terms WHERE token = ? AND number < ?", token, self.terms)
        return found[0][0] if found else None

    def deleted(self) -> Mask:
        """Return whether a passage is deleted, by number."""
        deleted = np.zeros(self.numbers, bool)
        for (number,) in self.rows("SELECT number FROM deletions WHERE generation <= ?", self._generation):
            deleted[number] = True
        return deleted

    def begin(self) -> None:
        """Begin a generation. Rows beyond the committed ones are of a killed writer, and removed."""
        # Unwritten pages stay in memory, because SQLite would lock readers out to write them before the commit.
        self.rows("PRAGMA cache_spill = OFF")
        self.rows("DELETE FROM passages WHERE number >= ?", self.numbers)
        self.rows("DELETE FROM terms WHERE number >= ?", self.terms)
        self.rows("DELETE FROM deletions WHERE generation > ?", self._generation)
        self._generation += 1

    def add(self, id: str, content: bytes) -> None:
        row = self.numbers, id, crc32(content), content
        self._connection.execute("INSERT INTO passages VALUES (?, ?, ?, ?)", row)
        self.numbers += 1

    def add_term(self, token: str) -> int:
        """Return a token's term number; a new token gets the next one."""
        number = self.term(token)
        if number is None:
            number = self.terms
            self._connection.execute("INSERT INTO terms VALUES (?, ?)", (number, token))
            self.terms += 1
        return number

    def delete(self, number: int) -> None:
        self._connection.execute("INSERT INTO deletions VALUES (?, ?)", (number, self._generation))

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        """Drop uncommitted rows."""
        self._connection.close()
