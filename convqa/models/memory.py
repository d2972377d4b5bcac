"""Vectors that were made before: in this process, and in a file that serves others.

The file, ``$XDG_CACHE_HOME/convqa/vectors/vectors.sqlite``, is a cache only: a vector has the same bytes whether it is
read there or made anew. It may be deleted at any time, and where it cannot be read or written it is passed over.
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
"""Texts between two writes: what a process that is killed may lose."""

_IN_PROCESS = 20_000
"""Vectors that a process keeps, the latest: 31 MB of 384 dimensions."""

_IN_FILE = 1_000_000
"""Vectors that the file keeps, the latest: 2.1 GB of 384 dimensions."""

Row = tuple[bytes, bytes]

_PATIENCE = 10.0
"""Seconds that a process waits for another that writes."""

_PROBES = ("What did he write?", "In 1808 \u201cFaust\u201d was printed in T\u00fcbingen, 309 pages long.")


class Memory:
    """The vectors that an encoder makes, each made once. Safe to call from several threads.

    :param encode: gives the vectors of texts, shape (n, dimension); each must not depend on the others' texts.
    :param identity: names the encoder and how it runs.
    """

    def __init__(self, encode: Callable[[Sequence[str]], Array], identity: str) -> None:
        self._encode = encode
        self._identity = identity
        self._made: dict[bytes, Array] = {}
        self._lock = threading.Lock()

    @cached_property
    def _salt(self) -> bytes:
        # What else shapes the numbers, such as a library's version or a processor's instructions, shows in these two.
        return blake2b(self._identity.encode() + self._encode(_PROBES).tobytes()).digest()

    def vectors(self, texts: Sequence[str], keep: bool) -> Array:
        """The vectors of one text or more. :param keep: in the file too."""
        data = [text.encode("utf-8", "surrogatepass") for text in texts]
        keys = [blake2b(one, digest_size=16, key=self._salt).digest() for one in data]
        with self._lock:
            found = {key: self._made[key] for key in keys if key in self._made}
        missing = [(key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in found]
        for start in range(0, len(missing), _AT_ONCE):
            found |= self._made_of(dict(missing[start : start + _AT_ONCE]), keep)
        with self._lock:
            self._made |= found
            for key in list(islice(self._made, max(0, len(self._made) - _IN_PROCESS))):
                del self._made[key]
        return np.stack([found[key] for key in keys])

    def _made_of(self, texts: Mapping[bytes, str], keep: bool) -> dict[bytes, Array]:
        path = cache_folder() / "vectors" / "vectors.sqlite"
        file = once(path, lambda: CacheFile(path, _IN_FILE, "vectors are made anew each time")) if keep else None
        kept = file.read(list(texts)) if file else {}
        found = {key: np.frombuffer(data, np.float32) for key, data in kept.items()}
        fresh = [key for key in texts if key not in found]
        if not fresh:
            return found
        rows = self._encode([texts[key] for key in fresh])
        made = {key: row.copy() for key, row in zip(fresh, rows, strict=True)}
        if file:
            file.write({key: vector.tobytes() for key, vector in made.items()})
        return found | made


class CacheFile:
    """Bytes by key in one file of SQLite. Every call is a short transaction, so that processes can share it.

    What fails is said once and not tried again in this process.

    :param path: of the file, whose table has its name. :param most: rows that it keeps, the latest.
    :param without: what a warning says of doing without it.
    """

    def __init__(self, path: Path, most: int, without: str) -> None:
        self._path, self._most, self._without = path, most, without
        self._failed: set[str] = set()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values that are there, but for those that are not as they were written."""
        asked = ", ".join("?" * len(keys))
        query = f"SELECT * FROM {self._path.stem} WHERE key IN ({asked})"
        rows = self._tried("read", lambda file: file.execute(query, keys).fetchall())
        return {key: data[:-4] for key, data in rows if crc32(data[:-4]).to_bytes(4) == data[-4:]}

    def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values, and drop the oldest of too many."""
        rows = [(key, data + crc32(data).to_bytes(4)) for key, data in values.items()]
        table = self._path.stem

        def work(file: sqlite3.Connection) -> list[Row]:
            file.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)
            file.execute(f"DELETE FROM {table} WHERE rowid <= (SELECT max(rowid) FROM {table}) - ?", (self._most,))
            return []

        self._tried("written", work)

    def _tried(self, what: str, work: Callable[[sqlite3.Connection], list[Row]]) -> list[Row]:
        """The rows that a transaction gives; none where it fails, or did before."""
        if what in self._failed:
            return []
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as file, file:
                file.execute(
                    f"CREATE TABLE IF NOT EXISTS {self._path.stem} (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
                )
                return work(file)
        except (OSError, sqlite3.Error) as error:
            # What cannot be read is not written either; what is only not written is read on.
            self._failed |= {what, "written"}
            logger.warning(
                "the cache %s cannot be %s (%s): %s. It may be deleted.", self._path, what, error, self._without
            )
            return []
