"""The forward file: the distinct terms of each passage, with their counts in text and title."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.embedded.files import NUMBER, OFFSET, Appender, Sizes, array

TERMS, COUNTS, ENDS = "forward.terms", "forward.counts", "forward.ends"
COUNT = np.dtype("<u2")
"""Both counts of a term, text * 16 + title, capped at 4,095 in a text and 15 in a title."""

_TITLE_BITS = 4
_MAX_IN_TITLE = 2**_TITLE_BITS - 1
_MAX_IN_TEXT = 2**12 - 1
_TERM_BITS = np.uint64(32)
_TERM_MASK = np.uint64(2**32 - 1)

Terms = NDArray[Any]
"""Distinct terms of passages, once for each passage that has them."""


class Forward:
    """Reader of the forward file. ``ends[n]`` is the end of passage n's terms, which start at the end before."""

    def __init__(self, data: Path, sizes: Sizes) -> None:
        self._terms = array(data, TERMS, NUMBER, sizes)
        self._counts = array(data, COUNTS, COUNT, sizes)
        self._ends = array(data, ENDS, OFFSET, sizes)

    def frequencies(self, numbers: NDArray[Any], slots: NDArray[Any], width: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the counts of a query's terms in the texts and titles of passages: two arrays of shape (width, C).

        :param numbers: of C passages.
        :param slots: for each term of the vocabulary its position in the query, from 1, or 0.
        :param width: number of terms in the query.
        """
        starts = np.where(numbers > 0, self._ends[numbers - 1], 0)
        ends = self._ends[numbers]
        sizes = ends - starts
        joined_ends = np.cumsum(sizes)
        # Arrays over all terms of all passages take less time than a loop over passages.
        indexes = np.arange(sizes.sum()) + np.repeat(ends - joined_ends, sizes)
        positions = slots.take(self._terms.take(indexes))
        hits = np.flatnonzero(positions)
        passages = np.searchsorted(joined_ends, hits, side="right")
        matrix = np.zeros((width, len(numbers)), COUNT)
        matrix[positions[hits] - 1, passages] = self._counts[indexes[hits]]
        return matrix >> _TITLE_BITS, matrix & _MAX_IN_TITLE


class ForwardWriter:
    """Writer of the forward file. The caller syncs and closes ``files``."""

    def __init__(self, data: Path, sizes: Sizes) -> None:
        self._terms = Appender(data, TERMS, NUMBER, sizes)
        self._counts = Appender(data, COUNTS, COUNT, sizes)
        self._ends = Appender(data, ENDS, OFFSET, sizes)
        self.files = (self._terms, self._counts, self._ends)

    def extend(self, texts: Sequence[Sequence[int]], titles: Sequence[Sequence[int]]) -> tuple[Terms, Terms, Terms]:
        """Append the terms of passages' texts and titles, with repeats; return those of texts, titles and both."""
        text, text_counts = np.unique(_keys(texts), return_counts=True)
        title, title_counts = np.unique(_keys(titles), return_counts=True)
        # Not union1d, whose hash table takes longer than all the rest.
        merged = np.sort(np.concatenate((text, title)), kind="stable")
        is_first = np.ones(len(merged), bool)
        is_first[1:] = merged[1:] != merged[:-1]
        both = merged[is_first]
        counts = np.zeros(len(both), COUNT)
        counts[np.searchsorted(both, text)] = np.minimum(text_counts, _MAX_IN_TEXT) << _TITLE_BITS
        counts[np.searchsorted(both, title)] |= np.minimum(title_counts, _MAX_IN_TITLE).astype(COUNT)
        sizes = np.bincount((both >> _TERM_BITS).astype(np.int64), minlength=len(texts))
        self._ends.append(len(self._terms) + np.cumsum(sizes))
        self._terms.append(both & _TERM_MASK)
        self._counts.append(counts)
        return text & _TERM_MASK, title & _TERM_MASK, both & _TERM_MASK

    def terms(self, number: int) -> tuple[Terms, Terms, Terms]:
        """Return the distinct terms of a passage's text, title and both."""
        start = int(self._ends.read(number - 1, number)[0]) if number > 0 else 0
        end = int(self._ends.read(number, number + 1)[0])
        both = self._terms.read(start, end)
        counts = self._counts.read(start, end)
        return both[counts > _MAX_IN_TITLE], both[counts & _MAX_IN_TITLE > 0], both


def _keys(rows: Sequence[Sequence[int]]) -> NDArray[np.uint64]:
    """Return row << 32 | term for each term."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    terms = np.fromiter(chain.from_iterable(rows), np.uint64, int(lengths.sum()))
    indexes = np.arange(len(rows), dtype=np.uint64)
    return np.repeat(indexes << _TERM_BITS, lengths) | terms
