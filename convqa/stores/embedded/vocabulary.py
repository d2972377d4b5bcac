"""Tokens of a collection: a number for each, and in how many passages it occurs, by field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
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
    """The reading side: term numbers by token, and document frequencies by field (of ``FIELDS``) and term."""

    def __init__(self, folder: Path, generation: int, sizes: Mapping[str, int]) -> None:
        lookup = self.lookup = Lookup.read(folder, "terms", generation, sizes)
        self.term = lru_cache(_REMEMBERED)(lambda token: next(iter(lookup.find(hashed(token))), None))
        """A token's number, None if it is unknown. (Two tokens with one 64-bit hash are one term.)"""
        self.frequencies = array(folder, f"terms.frequencies.{generation}", _DF, sizes).reshape(3, -1)

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

    def write(self, folder: Path, generation: int) -> dict[str, int]:
        """Write all as the files of a generation; returns them with their sizes."""
        whole = self._base.lookup.merged(Lookup.of(list(self._fresh), list(self._fresh.values())))
        frequencies = self._frequencies[:, : len(whole.hashes)].astype(_DF)
        return whole.write(folder, "terms", generation) | write_array(
            folder, f"terms.frequencies.{generation}", frequencies
        )
