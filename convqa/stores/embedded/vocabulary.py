"""Tokens of a collection: a number for each, and in how many passages it occurs, by field."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.embedded.files import array, write_array
from convqa.stores.embedded.lookup import Lookup, hashed

FIELDS = ("text", "title", "all")
"""``all``: title and text as one."""

_REMEMBERED = 100_000
_DF = np.dtype("<u4")


class Vocabulary:
    """The reading side: term numbers by token, and document frequencies by field and term."""

    def __init__(self, folder: Path, generation: int, sizes: Mapping[str, int]) -> None:
        self.lookup = Lookup.read(folder, "terms", generation, sizes)
        self._terms: dict[str, int | None] = {}
        self.frequencies = array(folder, f"terms.frequencies.{generation}", _DF, sizes).reshape(3, -1)

    def __len__(self) -> int:
        return len(self.lookup.hashes)

    def term(self, token: str) -> int | None:
        """A token's number. (Two tokens with one 64-bit hash are one term.)"""
        try:
            return self._terms[token]
        except KeyError:
            found = self.lookup.find(hashed(token))
            if len(self._terms) >= _REMEMBERED:
                self._terms.clear()
            return self._terms.setdefault(token, found[0] if found else None)

    def df(self, field: str) -> NDArray[Any]:
        frequencies: NDArray[Any] = self.frequencies[FIELDS.index(field)]
        return frequencies


class VocabularyWriter(dict[str, int]):
    """Token -> term number; an unknown token gets the next number when it is asked for."""

    def __init__(self, base: Vocabulary) -> None:
        super().__init__()
        self._base = base
        self._hashes: list[int] = []
        self._fresh: dict[int, int] = {}
        self._frequencies = np.zeros((len(FIELDS), max(1024, 2 * len(base))), np.int64)
        self._frequencies[:, : len(base)] = base.frequencies

    def __missing__(self, token: str) -> int:
        hash = hashed(token)
        known = self._base.lookup.find(hash) if len(self._base) else ()
        number = known[0] if known else self._fresh.get(hash)
        if number is None:
            number = len(self._base) + len(self._hashes)
            self._hashes.append(hash)
            self._fresh[hash] = number
        self[token] = number
        return number

    def count(self, terms: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], by: int = 1) -> None:
        """Change document frequencies: for each of ``FIELDS`` its terms; one that is given n times, n times."""
        size = len(self._base) + len(self._hashes)
        if size > self._frequencies.shape[1]:
            self._frequencies = np.pad(self._frequencies, ((0, 0), (0, size)))
        for frequencies, given in zip(self._frequencies, terms, strict=True):
            distinct, times = np.unique(given, return_counts=True)
            frequencies[distinct.astype(np.int64)] += by * times

    def write(self, folder: Path, generation: int) -> dict[str, int]:
        """Write all as the files of a generation; returns them with their sizes."""
        fresh = Lookup.of(self._hashes, np.arange(len(self._base), len(self._base) + len(self._hashes)))
        whole = self._base.lookup.merged(fresh)
        frequencies = self._frequencies[:, : len(whole.hashes)].astype(_DF)
        return whole.write(folder, "terms", generation) | write_array(
            folder, f"terms.frequencies.{generation}", frequencies
        )
