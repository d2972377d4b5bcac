"""Sorted 64-bit hashes that lead to numbers: of ids to passages, of tokens to terms with document frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.embedded.files import Sizes, array, write_array
from convqa.stores.integrity import Extent

HASH = np.dtype("<u8")
NUMBER = np.dtype("<u4")

FIELDS = ("text", "title", "all")
"""``all``: title and text as one."""

_REMEMBERED = 100_000


def hashed(text: str) -> int:
    """A 64-bit hash of a string, the same on every machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


class Lookup:
    """Hashes, sorted, with a number for each. Two strings may share a hash: the caller compares what it finds."""

    def __init__(self, hashes: NDArray[Any], numbers: NDArray[Any]) -> None:
        self.hashes = hashes
        self.numbers = numbers

    @classmethod
    def read(cls, folder: Path, name: str, generation: int, sizes: Sizes) -> Lookup:
        return cls(
            array(folder, f"{name}.hashes.{generation}", HASH, sizes),
            array(folder, f"{name}.numbers.{generation}", NUMBER, sizes),
        )

    def write(self, folder: Path, name: str, generation: int) -> dict[str, Extent]:
        """Write the files of a generation; returns them with their extents."""
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
        return reduce(Lookup.merged, self._runs)


class Vocabulary:
    """The reading side: term numbers by token, and document frequencies by field (of ``FIELDS``) and term."""

    def __init__(self, folder: Path, generation: int, sizes: Sizes) -> None:
        lookup = self.lookup = Lookup.read(folder, "terms", generation, sizes)
        self.term = lru_cache(_REMEMBERED)(lambda token: next(iter(lookup.find(hashed(token))), None))
        """A token's number, None if it is unknown. (Two tokens with one 64-bit hash are one term.)"""
        self.frequencies = array(folder, f"terms.frequencies.{generation}", NUMBER, sizes).reshape(3, -1)

    def __len__(self) -> int:
        return len(self.lookup.hashes)


class VocabularyWriter(dict[str, int]):
    """Token -> term number; an unknown token gets the next number when it is asked for."""

    def __init__(self, base: Vocabulary) -> None:
        super().__init__()
        self._base = base
        self._fresh: dict[int, int] = {}
        self._frequencies = np.zeros((len(FIELDS), max(1024, 2 * len(base))), np.int64)
        self._frequencies[:, : len(base)] = base.frequencies

    def __missing__(self, token: str) -> int:
        hash = hashed(token)
        known = self._base.lookup.find(hash) if len(self._base) else ()
        self[token] = known[0] if known else self._fresh.setdefault(hash, len(self._base) + len(self._fresh))
        return self[token]

    def count(self, terms: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], by: int = 1) -> None:
        """Change document frequencies: for each of ``FIELDS`` its terms; one that is given n times, n times."""
        size = len(self._base) + len(self._fresh)
        if size > self._frequencies.shape[1]:
            self._frequencies = np.pad(self._frequencies, ((0, 0), (0, size)))
        for frequencies, given in zip(self._frequencies, terms, strict=True):
            distinct, times = np.unique(given, return_counts=True)
            frequencies[distinct.astype(np.int64)] += by * times

    def write(self, folder: Path, generation: int) -> dict[str, Extent]:
        """Write all as the files of a generation; returns them with their extents."""
        whole = self._base.lookup.merged(Lookup.of(list(self._fresh), list(self._fresh.values())))
        frequencies = self._frequencies[:, : len(whole.hashes)].astype(NUMBER)
        return whole.write(folder, "terms", generation) | write_array(
            folder, f"terms.frequencies.{generation}", frequencies
        )
