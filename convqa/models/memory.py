"""Cache vectors, in this process and in a file for other processes.

The file, ``$XDG_CACHE_HOME/convqa/vectors/vectors.sqlite``, never changes a vector's bytes and may be deleted at any
time. If it cannot be read or written, it is ignored.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from zlib import crc32

import numpy as np

from convqa.models.once import once
from convqa.models.types import Array
from convqa.places import cache_folder

logger = logging.getLogger(__name__)

_AT_ONCE = 256
"""Texts per write, which a killed process may lose."""

_IN_PROCESS = 20_000
"""Maximum vectors in a process: 31 MB with 384 dimensions."""

_IN_FILE = 1_000_000
"""Maximum vectors in the file: 2.1 GB with 384 dimensions."""

Row = tuple[bytes, bytes]

_PATIENCE = 10.0
"""Seconds to wait while another process writes."""

_PROBES = ("What did he write?", "In 1808 \u201cFaust\u201d was printed in T\u00fcbingen, 309 pages long.")


class Memory:
    """The cached vectors of an encoder. Thread-safe.

    :param encode: returns the vectors of texts, shape (n, dimension); each must depend on its own text only.
    :param identity: identifies the encoder and how it runs.
    """

    def __init__(self, encode: Callable[[Sequence[str]], Array], identity: str) -> None:
        self._encode = encode
        self._identity = identity
        self._vectors: dict[bytes, Array] = {}
        self._lock = threading.Lock()

    @cached_property
    def _salt(self) -> bytes:
        # Vectors of two probes cover what else affects results, such as library versions and processor instructions.
        return blake2b(self._identity.encode() + self._encode(_PROBES).tobytes()).digest()

    def vectors(self, texts: Sequence[str], keep: bool) -> Array:
        """Return the vectors of one or more texts. :param keep: use the file too."""
        data = [text.encode("utf-8", "surrogatepass") for text in texts]
        keys = [blake2b(encoded, digest_size=16, key=self._salt).digest() for encoded in data]
        with self._lock:
            vectors = {key: self._vectors[key] for key in keys if key in self._vectors}
        missing = [(key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in vectors]
        for start in range(0, len(missing), _AT_ONCE):
            vectors |= self._read_or_encode(dict(missing[start : start + _AT_ONCE]), keep)
        with self._lock:
            self._vectors |= vectors
            for key in list(islice(self._vectors, max(0, len(self._vectors) - _IN_PROCESS))):
                del self._vectors[key]
        return np.stack([vectors[key] for key in keys])

    def _read_or_encode(self, texts: Mapping[bytes, str], keep: bool) -> dict[bytes, Array]:
        path = cache_folder() / "vectors" / "vectors.sqlite"
        file = once(path, lambda: CacheFile(path, _IN_FILE, "vectors are computed again each time")) if keep else None
        cached = file.read(list(texts)) if file else {}
        vectors = {key: np.frombuffer(data, np.float32) for key, data in cached.items()}
        missing = [key for key in texts if key not in vectors]
        if not missing:
            return vectors
        rows = self._encode([texts[key] for key in missing])
        encoded = {key: row.copy() for key, row in zip(missing, rows, strict=True)}
        if file:
            file.write({key: vector.tobytes() for key, vector in encoded.items()})
        return vectors | encoded


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
