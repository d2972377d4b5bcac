"""A cache of computed values, in this process and in a file for other processes."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from pathlib import Path

logger = logging.getLogger(__name__)

_VALUES_PER_WRITE = 256
"""A killed process may lose so many values."""

_LOCK_SECONDS = 10.0
"""How long to wait while another process writes."""

_KEY_BYTES = 20

CacheRow = tuple[bytes, bytes]
"""A key and its value."""


class Cache:
    """The latest values of this process by what they were computed from, and those in a file. Thread-safe.

    The file is an SQLite database that processes share; every call is a short transaction. It never changes a value's
    bytes and may be deleted at any time. After a failure, a warning is logged and this process ignores the file.

    :param salt: what all values depend on; part of every key.
    :param most: maximum values in this process; the latest are kept.
    :param path: the file, whose table has its stem as name.
    :param most_in_file: maximum values in the file; the latest are kept.
    :param without: the consequence of a failure, for the warning.
    """

    def __init__(
        self,
        salt: bytes,
        most: int,
        path: Path | None = None,
        most_in_file: int = 0,
        without: str = "",
    ) -> None:
        self._salt = blake2b(salt).digest()
        self._most = most
        self._path = path
        self._most_in_file = most_in_file
        self._without = without
        self._values: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def key(self, data: bytes) -> bytes:
        """Return the key of what a value is computed from."""
        return blake2b(data, digest_size=_KEY_BYTES, key=self._salt).digest()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the known values of the keys."""
        with self._lock:
            values = {key: self._values[key] for key in keys if key in self._values}
        missing = [key for key in keys if key not in values]
        if missing:
            marks = ", ".join("?" * len(missing))
            rows = self._transact(
                lambda file, table: file.execute(f"SELECT * FROM {table} WHERE key IN ({marks})", missing).fetchall()
            )
            stored = dict(rows)
            self._remember(stored)
            values |= stored
        return values

    def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep the values of these keys."""

        def insert(file: sqlite3.Connection, table: str) -> list[CacheRow]:
            file.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", values.items())
            newest = f"(SELECT max(rowid) FROM {table})"
            file.execute(f"DELETE FROM {table} WHERE rowid <= {newest} - ?", (self._most_in_file,))
            return []

        self._remember(values)
        self._transact(insert)

    def each(
        self,
        inputs: Sequence[bytes],
        compute: Callable[[list[int]], Sequence[bytes]],
    ) -> list[bytes]:
        """Return one value per input, in order.

        :param compute: returns the values of the inputs at these indexes.
        """
        keys = [self.key(data) for data in inputs]
        indexes = {key: index for index, key in enumerate(keys)}
        distinct = list(indexes)
        values: dict[bytes, bytes] = {}
        for start in range(0, len(distinct), _VALUES_PER_WRITE):
            batch = distinct[start : start + _VALUES_PER_WRITE]
            values |= self.read(batch)
            missing = [key for key in batch if key not in values]
            if missing:
                computed = compute([indexes[key] for key in missing])
                fresh = dict(zip(missing, computed, strict=True))
                self.write(fresh)
                values |= fresh
        return [values[key] for key in keys]

    def _remember(self, values: Mapping[bytes, bytes]) -> None:
        with self._lock:
            self._values |= values
            surplus = max(0, len(self._values) - self._most)
            for key in list(islice(self._values, surplus)):
                del self._values[key]

    def _transact(self, work: Callable[[sqlite3.Connection, str], list[CacheRow]]) -> list[CacheRow]:
        """Return the rows of a transaction on the table in the file; none without a file or if it fails."""
        if self._path is None:
            return []
        table = self._path.stem
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_LOCK_SECONDS)) as file, file:
                file.execute(f"CREATE TABLE IF NOT EXISTS {table} (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
                return work(file, table)
        except (OSError, sqlite3.Error) as error:
            logger.warning(
                "the cache %s cannot be used (%s): %s. It may be deleted.",
                self._path,
                error,
                self._without,
            )
            self._path = None
            return []
