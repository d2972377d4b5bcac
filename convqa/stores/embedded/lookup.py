"""Sorted 64-bit hashes that lead to numbers: of passage ids to passages, of tokens to terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.embedded.files import array, write_array

HASH = np.dtype("<u8")
NUMBER = np.dtype("<u4")


def hashed(text: str) -> int:
    """A 64-bit hash of a string, the same on every machine.

    :raises UnicodeEncodeError: for a lone surrogate.
    """
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


class Lookup:
    """Hashes, sorted, with a number for each. Two strings may share a hash: the caller compares what it finds."""

    def __init__(self, hashes: NDArray[Any], numbers: NDArray[Any]) -> None:
        self.hashes = hashes
        self.numbers = numbers

    @classmethod
    def read(cls, folder: Path, name: str, generation: int, sizes: Mapping[str, int]) -> Lookup:
        return cls(
            array(folder, f"{name}.hashes.{generation}", HASH, sizes),
            array(folder, f"{name}.numbers.{generation}", NUMBER, sizes),
        )

    def write(self, folder: Path, name: str, generation: int) -> dict[str, int]:
        """Write the files of a generation; returns them with their sizes."""
        hashes = write_array(folder, f"{name}.hashes.{generation}", self.hashes)
        return hashes | write_array(folder, f"{name}.numbers.{generation}", self.numbers)

    def find(self, hash: int) -> list[int]:
        """The numbers under a hash."""
        wanted = np.uint64(hash)
        start = int(self.hashes.searchsorted(wanted))
        end = start
        while end < len(self.hashes) and self.hashes[end] == wanted:
            end += 1
        return self.numbers[start:end].tolist() if end > start else []

    @classmethod
    def of(cls, hashes: Sequence[int] | NDArray[Any], numbers: Sequence[int] | NDArray[Any]) -> Lookup:
        """Sort pairs by hash; the numbers of one hash stay in their order."""
        keys, values = np.asarray(hashes, HASH), np.asarray(numbers, NUMBER)
        order = keys.argsort(kind="stable")
        return cls(keys[order], values[order])

    def merged(self, other: Lookup) -> Lookup:
        return Lookup.of(np.concatenate((self.hashes, other.hashes)), np.concatenate((self.numbers, other.numbers)))

    def without(self, numbers: NDArray[Any]) -> Lookup:
        """The same without some numbers."""
        kept = ~np.isin(self.numbers, numbers)
        return Lookup(self.hashes[kept], self.numbers[kept])


class GrowingLookup:
    """A lookup that takes new pairs in batches: runs of growing size, merged as they fill."""

    def __init__(self, base: Lookup) -> None:
        self._runs = [base]

    def find(self, hash: int) -> list[int]:
        return [number for run in self._runs for number in run.find(hash)]

    def contains(self, hashes: Sequence[int]) -> list[bool]:
        """For each hash whether it is there: for many at once."""
        wanted = np.array(hashes, HASH)
        found = np.zeros(len(wanted), bool)
        for run in self._runs:
            if len(run.hashes):
                places = np.minimum(run.hashes.searchsorted(wanted), len(run.hashes) - 1)
                found |= run.hashes[places] == wanted
        return found.tolist()

    def extend(self, hashes: Sequence[int], numbers: Sequence[int]) -> None:
        run = Lookup.of(hashes, numbers)
        while len(self._runs) > 1 and len(self._runs[-1].hashes) <= len(run.hashes):
            run = self._runs.pop().merged(run)
        self._runs.append(run)

    def whole(self) -> Lookup:
        """Everything as one lookup."""
        merged = self._runs[0]
        for run in self._runs[1:]:
            merged = merged.merged(run)
        return merged
