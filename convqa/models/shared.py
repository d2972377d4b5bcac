"""Share the outputs of networks between runs.

After :func:`share`, a process looks outputs up in a file before computing them. A key covers everything that affects
them, so entries never go stale. Each entry has the seconds it took to compute, which :func:`clock` counts, so that a
run's timings do not depend on the cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import orjson

from convqa.models.cache import Cache
from convqa.models.types import Array, Network, TokenSequence

NetworkRun = Callable[[Sequence[TokenSequence]], list[list[Array]]]

_MOST_IN_FILE = 20_000_000
"""Maximum results in the file."""


class SharedOutputs:
    """A file of networks' outputs. ``seconds``: computing time of those that were looked up, minus that of look-ups.

    :param salt: what affects all results, such as the versions of libraries.
    """

    def __init__(self, path: Path, salt: str) -> None:
        self._cache = Cache(
            salt.encode(),
            0,
            path,
            _MOST_IN_FILE,
            "nothing is shared between runs",
        )
        self.seconds = 0.0

    def outputs(
        self,
        owner: str,
        sequences: Sequence[TokenSequence],
        run: NetworkRun,
    ) -> list[list[Array]]:
        """Return the outputs of each sequence, in order.

        :param owner: identifies the network and how it runs. :param run: computes the outputs of sequences.
        """
        start = time.perf_counter()
        inputs = []
        for tokens in sequences:
            numbers = np.array([tokens.ids, tokens.types], np.int64)
            inputs.append(owner.encode() + b"\0" + numbers.tobytes())

        def compute(indexes: list[int]) -> list[bytes]:
            before = time.perf_counter()
            results = run([sequences[index] for index in indexes])
            seconds = (time.perf_counter() - before) / len(indexes)
            return [_dump(seconds, result) for result in results]

        results = []
        for entry in self._cache.each(inputs, compute):
            seconds, result = _load(entry)
            self.seconds += seconds
            results.append(result)
        self.seconds -= time.perf_counter() - start
        return results


_shared: SharedOutputs | None = None


def share(path: Path, salt: str) -> None:
    """Share results through this file from now on in this process."""
    global _shared
    _shared = SharedOutputs(path, salt)


def shared() -> SharedOutputs | None:
    """Return the shared results of this process, None without any."""
    return _shared


def clock() -> float:
    """Return ``time.perf_counter`` plus the computing time of results that were looked up."""
    return time.perf_counter() + (_shared.seconds if _shared else 0.0)


def sharing(network: Network, identity: str) -> Network:
    """Return the network, wrapped to look sequences up first in a process that shares."""
    if _shared is None:
        return network
    return replace(network, run=partial(_shared.outputs, identity, run=network.run))


def _dump(seconds: float, arrays: list[Array]) -> bytes:
    header = orjson.dumps([seconds, [array.shape for array in arrays]])
    contents = [np.asarray(array, np.float32).tobytes() for array in arrays]
    return header + b"\n" + b"".join(contents)


def _load(data: bytes) -> tuple[float, list[Array]]:
    header, _, rest = data.partition(b"\n")
    seconds, shapes = orjson.loads(header)
    arrays: list[Array] = []
    offset = 0
    for shape in shapes:
        array = np.ndarray(shape, np.float32, rest, offset)
        arrays.append(array)
        offset += array.nbytes
    return seconds, arrays
