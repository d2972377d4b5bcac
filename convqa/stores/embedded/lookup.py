"""Maps from sorted 64-bit hashes to numbers: from ids to passages, from tokens to terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, reduce
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.embedded.files import Blob, BlobAppender, Extent, Sizes, array, write_array

HASH = np.dtype("<u8")
NUMBER = np.dtype("<u4")

FIELDS = ("text", "title", "all")
"""``all`` is title and text together."""

_REMEMBERED = 100_000


def hashed(text: str) -> int:
    """Return a 64-bit hash of a string, the same on every machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


class Lookup:
    """Sorted hashes with a number each. Strings may share a hash, so callers compare what they find."""

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
        """Write the files of a generation; return their names and extents."""
        hashes = write_array(folder, f"{name}.hashes.{generation}", self.hashes)
        return hashes | write_array(folder, f"{name}.numbers.{generation}", self.numbers)

    def find(self, hash: int) -> list[int]:
        key = np.uint64(hash)
        end = start = int(self.hashes.searchsorted(key))
        while end < len(self.hashes) and self.hashes[end] == key:
            end += 1
        return self.numbers[start:end].tolist() if end > start else []

    @classmethod
    def of(cls, hashes: Sequence[int] | NDArray[Any], numbers: Sequence[int] | NDArray[Any]) -> Lookup:
        """Sort pairs by hash, keeping the order of numbers with equal hashes."""
        keys, values = np.asarray(hashes, HASH), np.asarray(numbers, NUMBER)
        order = keys.argsort(kind="stable")
        return cls(keys[order], values[order])

    def merged(self, other: Lookup) -> Lookup:
        return Lookup.of(np.concatenate((self.hashes, other.hashes)), np.concatenate((self.numbers, other.numbers)))

    def without(self, numbers: NDArray[Any]) -> Lookup:
        kept = ~np.isin(self.numbers, numbers)
        return Lookup(self.hashes[kept], self.numbers[kept])


def numbers_of(id: str, lookup: Lookup | GrowingLookup, ids: Blob | BlobAppender) -> Iterator[int]:
    """Yield the numbers of the passages with an id, including deleted ones."""
    with suppress(UnicodeEncodeError):
        encoded = id.encode()
        yield from (number for number in lookup.find(hashed(id)) if ids[number] == encoded)


class GrowingLookup:
    """A lookup that grows in batches: sorted runs, merged as they fill."""

    def __init__(self, base: Lookup) -> None:
        self._runs = [base]

    def find(self, hash: int) -> list[int]:
        return [number for run in self._runs for number in run.find(hash)]

    def contains(self, hashes: Sequence[int]) -> list[bool]:
        """Return for each hash whether it is present."""
        keys = np.array(hashes, HASH)
        present = np.zeros(len(keys), bool)
        for run in self._runs:
            if len(run.hashes):
                present |= run.hashes[np.minimum(run.hashes.searchsorted(keys), len(run.hashes) - 1)] == keys
        return present.tolist()

    def extend(self, hashes: Sequence[int], numbers: Sequence[int]) -> None:
        run = Lookup.of(hashes, numbers)
        while len(self._runs) > 1 and len(self._runs[-1].hashes) <= len(run.hashes):
            run = self._runs.pop().merged(run)
        self._runs.append(run)

    def whole(self) -> Lookup:
        return reduce(Lookup.merged, self._runs)


class Vocabulary:
    """Term numbers by token, and document frequencies by field (of ``FIELDS``) and term."""

    def __init__(self, folder: Path, generation: int, sizes: Sizes) -> None:
        lookup = self.lookup = Lookup.read(folder, "terms", generation, sizes)
        self.term = lru_cache(_REMEMBERED)(lambda token: next(iter(lookup.find(hashed(token))), None))
        """A token's number, None if unknown. Tokens with equal hashes share a term."""
        self.frequencies = array(folder, f"terms.frequencies.{generation}", NUMBER, sizes).reshape(3, -1)

    def __len__(self) -> int:
        return len(self.lookup.hashes)


class VocabularyWriter(dict[str, int]):
    """Token -> term number; a new token gets the next number."""

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
        """Change document frequencies by the terms of each of ``FIELDS``, with repeats."""
        size = len(self._base) + len(self._fresh)
        if size > self._frequencies.shape[1]:
            self._frequencies = np.pad(self._frequencies, ((0, 0), (0, size)))
        for frequencies, given in zip(self._frequencies, terms, strict=True):
            distinct, times = np.unique(given, return_counts=True)
            frequencies[distinct.astype(np.int64)] += by * times

    def write(self, folder: Path, generation: int) -> dict[str, Extent]:
        whole = self._base.lookup.merged(Lookup.of(list(self._fresh), list(self._fresh.values())))
        frequencies = self._frequencies[:, : len(whole.hashes)].astype(NUMBER)
        return whole.write(folder, "terms", generation) | write_array(
            folder, f"terms.frequencies.{generation}", frequencies
        )
