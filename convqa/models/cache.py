"""Caches of computed values, in this process and in files for other processes.

A file, such as ``$XDG_CACHE_HOME/convqa/vectors/vectors.sqlite``, never changes a value's bytes and may be deleted at
any time. If it cannot be read or written, it is ignored.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from zlib import crc32

logger = logging.getLogger(__name__)

_AT_ONCE = 256
"""Values per write, which a killed process may lose."""

Row = tuple[bytes, bytes]

_PATIENCE = 10.0
"""Seconds to wait while another process writes."""


class Cache:
    """The latest values of this process by what they were computed from; each call may use a file too. Thread-safe.

    :param salt: what all values depend on; part of every key. :param most: maximum values in this process.
    """

    def __init__(self, salt: bytes, most: int) -> None:
        self._salt = blake2b(salt).digest()
        self._most = most
        self._values: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def key(self, data: bytes) -> bytes:
        """Return the key of what a value is computed from."""
        return blake2b(data, digest_size=16, key=self._salt).digest()

    def read(self, keys: Iterable[bytes], file: CacheFile | None = None) -> dict[bytes, bytes]:
        """Return the known values of the keys."""
        with self._lock:
            values = {key: self._values[key] for key in keys if key in self._values}
        if file is not None and (missing := [key for key in keys if key not in values]):
            values |= self._keep(file.read(missing))
        return values

    def write(self, values: Mapping[bytes, bytes], file: CacheFile | None = None) -> None:
        self._keep(values)
        if file is not None:
            file.write(values)

    def each(
        self, inputs: Sequence[bytes], make: Callable[[list[int]], Sequence[bytes]], file: CacheFile | None = None
    ) -> list[bytes]:
        """Return one value per input, in order.

        :param make: computes the values of the inputs at these indexes.
        """
        keys = [self.key(data) for data in inputs]
        indexes: dict[bytes, int] = {}
        for index, key in enumerate(keys):
            indexes.setdefault(key, index)
        values = self.read(indexes)
        rest = [key for key in indexes if key not in values]
        for start in range(0, len(rest), _AT_ONCE):
            batch = rest[start : start + _AT_ONCE]
            values |= self.read(batch, file)
            if missing := [key for key in batch if key not in values]:
                made = dict(zip(missing, make([indexes[key] for key in missing]), strict=True))
                self.write(made, file)
                values |= made
        return [values[key] for key in keys]

    def _keep(self, values: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        with self._lock:
            self._values |= values
            for key in list(islice(self._values, max(0, len(self._values) - self._most))):
                del self._values[key]
        return values


class CacheFile:
    """A key-value cache in an SQLite file. Every call is a short transaction, so that processes can share the file.

    After a failure it logs one warning and stops trying in this process.

    :param path: the file; the table has its stem as name. :param most: maximum rows; the latest are kept.
    :param without: the consequence of a failure, for the warning.
    """

    def __init__(self, path: Path, most: int, without: str) -> None:
        self._path, self._most, self._without = path, most, without
        self._failed: set[str] = set()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys in the file, except damaged ones."""
        query = f"SELECT * FROM {self._path.stem} WHERE key IN ({', '.join('?' * len(keys))})"
        rows = self._attempt("read", lambda file: file.execute(query, keys).fetchall())
        return {key: data[:-4] for key, data in rows if crc32(data[:-4]).to_bytes(4) == data[-4:]}

    def write(self, values: Mapping[bytes, bytes]) -> None:
        """Write values and delete the oldest rows above the maximum."""
        rows = [(key, data + crc32(data).to_bytes(4)) for key, data in values.items()]
        table = self._path.stem

        def work(file: sqlite3.Connection) -> list[Row]:
            file.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)
            file.execute(f"DELETE FROM {table} WHERE rowid <= (SELECT max(rowid) FROM {table}) - ?", (self._most,))
            return []

        self._attempt("written", work)

    def _attempt(self, action: str, work: Callable[[sqlite3.Connection], list[Row]]) -> list[Row]:
        """Return the rows of a transaction, none if it fails or failed before."""
        if action in self._failed:
            return []
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as file, file:
                file.execute(
                    f"CREATE TABLE IF NOT EXISTS {self._path.stem} (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
                )
                return work(file)
        except (OSError, sqlite3.Error) as error:
            # A file that cannot be read is not written either; one that cannot be written is still read.
            self._failed |= {action, "written"}
            logger.warning(
                "the cache %s cannot be %s (%s): %s. It may be deleted.", self._path, action, error, self._without
            )
            return []
