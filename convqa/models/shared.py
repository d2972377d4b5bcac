"""Share the results of models and retrievers between runs.

After :func:`share`, a process looks results up in a file before computing them. A key covers everything that affects a
result, so entries never go stale. Each entry has the seconds it took to compute, which :func:`clock` counts, so that a
run's timings do not depend on the cache.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import numpy as np
import orjson

from convqa.models.memory import CacheFile
from convqa.models.tokens import Tokens
from convqa.models.types import Array, Network

T = TypeVar("T")

_MOST = 20_000_000
"""Maximum results in the file."""
_AT_ONCE = 256
"""Results per write, which a killed process may lose."""


class Shared:
    """A file of results. ``seconds``: computing time of the results that were looked up, minus the time of look-ups.

    :param salt: what affects all results, such as the versions of libraries.
    """

    def __init__(self, path: Path, salt: str) -> None:
        self._file = CacheFile(path, _MOST, "nothing is shared between runs")
        self._salt = blake2b(salt.encode()).digest()
        self._counted: set[bytes] = set()
        self.seconds = 0.0

    def each(
        self,
        owner: str,
        inputs: Sequence[bytes],
        make: Callable[[list[int]], Sequence[T]],
        dump: Callable[[T], bytes],
        load: Callable[[bytes], T],
    ) -> list[T]:
        """Return one result per input, in order.

        :param owner: identifies what computes the results.
        :param make: returns the results of the inputs at these indexes.
        """
        keys = [blake2b(owner.encode() + b"\0" + data, digest_size=16, key=self._salt).digest() for data in inputs]
        indexes = {key: index for index, key in reversed(list(enumerate(keys)))}
        results: dict[bytes, T] = {}
        distinct = sorted(indexes, key=indexes.__getitem__)
        for start in range(0, len(distinct), _AT_ONCE):
            batch = distinct[start : start + _AT_ONCE]
            with self._uncounted():
                cached = self._file.read(batch)
                results |= {key: load(data[8:]) for key, data in cached.items()}
            self.seconds += sum(struct.unpack("<d", cached[key][:8])[0] for key in cached.keys() - self._counted)
            missing = [key for key in batch if key not in cached]
            if missing:
                before = clock()
                computed = make([indexes[key] for key in missing])
                each = struct.pack("<d", (clock() - before) / len(missing))
                results |= zip(missing, computed, strict=True)
                with self._uncounted():
                    self._file.write({key: each + dump(result) for key, result in zip(missing, computed, strict=True)})
            self._counted.update(batch)
        return [results[key] for key in keys]

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        """Exclude the time of reading and writing the file from :func:`clock`."""
        start = time.perf_counter()
        yield
        self.seconds -= time.perf_counter() - start


_shared: Shared | None = None


def share(path: Path, salt: str) -> None:
    """Share results through this file from now on in this process."""
    global _shared
    _shared = Shared(path, salt)


def shared() -> Shared | None:
    """Return the shared results of this process, None without any."""
    return _shared


def clock() -> float:
    """Return ``time.perf_counter`` plus the computing time of results that were looked up."""
    return time.perf_counter() + (_shared.seconds if _shared else 0.0)


def sharing(network: Network, identity: str) -> Network:
    """Return the network, wrapped to look sequences up first in a process that shares."""
    if (store := _shared) is None:
        return network

    def run(sequences: Sequence[Tokens]) -> list[list[Array]]:
        inputs = [np.array([tokens.ids, tokens.types], np.int64).tobytes() for tokens in sequences]
        return store.each(identity, inputs, lambda indexes: network.run([sequences[i] for i in indexes]), _dump, _load)

    return replace(network, run=run)


def _dump(arrays: list[Array]) -> bytes:
    shapes = orjson.dumps([array.shape for array in arrays])
    return b"\n".join([shapes, b"".join(np.asarray(array, np.float32).tobytes() for array in arrays)])


def _load(data: bytes) -> list[Array]:
    shapes, _, rest = data.partition(b"\n")
    arrays: list[Array] = []
    offset = 0
    for shape in orjson.loads(shapes):
        arrays.append(np.ndarray(shape, np.float32, rest, offset))
        offset += arrays[-1].nbytes
    return arrays
