"""Results that several runs share: what models compute and what retrievers find, each made once.

A process that has called :func:`share` looks results up in a file before it makes them. Keys are made of whatever
shapes a result, so none goes stale. With each result the file keeps how long it took, and :func:`clock` counts those
seconds, so that a run's timings are those of the work and not of the look-up.
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
"""Results that the file keeps."""
_AT_ONCE = 256
"""Results between two writes: what a process that is killed may lose."""


class Shared:
    """Results by key in a file. ``seconds``: what looked-up results took when they were made, less the look-ups.

    :param salt: what shapes all results alike, such as the versions of libraries.
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
        """One result for each input, in order.

        :param owner: names what makes the results.
        :param make: gives the results of the inputs at these places.
        """
        keys = [blake2b(owner.encode() + b"\0" + one, digest_size=16, key=self._salt).digest() for one in inputs]
        places = {key: place for place, key in reversed(list(enumerate(keys)))}
        results: dict[bytes, T] = {}
        wanted = sorted(places, key=places.__getitem__)
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            with self._uncounted():
                kept = self._file.read(some)
                results |= {key: load(data[8:]) for key, data in kept.items()}
            new = kept.keys() - self._counted
            self.seconds += sum(struct.unpack("<d", kept[key][:8])[0] for key in new)
            missing = [key for key in some if key not in kept]
            if missing:
                before = clock()
                made = make([places[key] for key in missing])
                each = struct.pack("<d", (clock() - before) / len(missing))
                results |= zip(missing, made, strict=True)
                with self._uncounted():
                    self._file.write({key: each + dump(one) for key, one in zip(missing, made, strict=True)})
            self._counted.update(some)
        return [results[key] for key in keys]

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        """Keep the time of reading and writing the file out of :func:`clock`."""
        start = time.perf_counter()
        yield
        self.seconds -= time.perf_counter() - start


_shared: Shared | None = None


def share(path: Path, salt: str) -> None:
    """Look results up in this file from now on, in this process, and keep new ones there."""
    global _shared
    _shared = Shared(path, salt)


def shared() -> Shared | None:
    """Where this process looks results up; None where it makes them all."""
    return _shared


def clock() -> float:
    """Seconds, as of ``time.perf_counter``, plus those of results that were looked up instead of made."""
    return time.perf_counter() + (_shared.seconds if _shared else 0.0)


def sharing(network: Network, identity: str) -> Network:
    """The network; in a process that shares, one that looks sequences of tokens up first."""
    if (store := _shared) is None:
        return network

    def run(sequences: Sequence[Tokens]) -> list[list[Array]]:
        inputs = [np.array([tokens.ids, tokens.types], np.int64).tobytes() for tokens in sequences]
        return store.each(identity, inputs, lambda places: network.run([sequences[at] for at in places]), _dump, _load)

    return replace(network, run=run)


def _dump(arrays: list[Array]) -> bytes:
    shapes = orjson.dumps([array.shape for array in arrays])
    return b"\n".join([shapes, b"".join(np.asarray(array, np.float32).tobytes() for array in arrays)])


def _load(data: bytes) -> list[Array]:
    shapes, _, rest = data.partition(b"\n")
    arrays: list[Array] = []
    at = 0
    for shape in orjson.loads(shapes):
        arrays.append(np.ndarray(shape, np.float32, rest, at))
        at += arrays[-1].nbytes
    return arrays
