"""The forward file: the distinct terms of each passage, with their counts in text and title, its lengths and its id."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convqa.stores.embedded.files import NUMBER, OFFSET, Appender, Array, Extent, Mask, Sizes, array

TERMS, PASSAGES, IDS = "forward.terms", "forward.passages", "forward.ids"
TERM = np.dtype([("term", NUMBER), ("text", "<u2"), ("title", "<u2")])
"""A term of a passage, with its counts in text and title."""
PASSAGE = np.dtype([("end", OFFSET), ("id_end", OFFSET), ("text", NUMBER), ("title", NUMBER)])
"""The ends of a passage's terms and id, which start at those of the passage before, and its numbers of tokens."""

_BYTE = np.dtype("u1")
_MAX_COUNT = 2**16 - 1
_TERM_BITS = np.uint64(32)
_TERM_MASK = np.uint64(2**32 - 1)
_PASSAGES_PER_BLOCK = 100_000


class Forward:
    """Reader of the forward file. ``lengths``: the numbers of tokens in ``text`` and ``title`` of each passage."""

    def __init__(self, data: Path, sizes: Sizes) -> None:
        self._terms = array(data, TERMS, TERM, sizes)
        self.lengths = array(data, PASSAGES, PASSAGE, sizes)
        self._ends = self.lengths["end"]
        self._ids = array(data, IDS, _BYTE, sizes).data

    def frequencies(
        self,
        numbers: Array,
        slots: Array,
        width: int,
    ) -> tuple[Array, Array]:
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
        terms = self._terms.take(indexes)
        positions = slots.take(terms["term"])
        hits = np.flatnonzero(positions)
        cells = positions[hits] - 1, np.searchsorted(joined_ends, hits, side="right")
        text, title = np.zeros((2, width, len(numbers)), NUMBER)
        text[cells] = terms["text"][hits]
        title[cells] = terms["title"][hits]
        return text, title

    def ids(self, numbers: Array) -> list[str]:
        """Return the ids of passages. Every hit needs one, which takes SQLite three times as long."""
        ends = self.lengths["id_end"]
        starts = np.where(numbers > 0, ends[numbers - 1], 0)
        slices = map(slice, starts.tolist(), ends[numbers].tolist())
        return [str(self._ids[each], "utf-8") for each in slices]

    def document_frequencies(self, terms: int, deleted: Mask) -> Array:
        """Return the number of live passages that have a term in text, title and either, of shape (3, terms)."""
        frequencies = np.zeros((3, terms), NUMBER)
        start = 0
        for first in range(0, len(deleted), _PASSAGES_PER_BLOCK):
            ends = self._ends[first : first + _PASSAGES_PER_BLOCK]
            live = np.repeat(~deleted[first : first + _PASSAGES_PER_BLOCK], np.diff(ends, prepend=start))
            used = self._terms[start : ends[-1]][live]
            columns = used["term"][used["text"] > 0], used["term"][used["title"] > 0], used["term"]
            for row, column in enumerate(columns):
                frequencies[row] += np.bincount(column, minlength=terms).astype(NUMBER)
            start = ends[-1]
        return frequencies


class ForwardWriter:
    """Writer of the forward file."""

    def __init__(self, data: Path, sizes: Sizes) -> None:
        self._terms = Appender(data, TERMS, TERM, sizes)
        self._passages = Appender(data, PASSAGES, PASSAGE, sizes)
        self._ids = Appender(data, IDS, _BYTE, sizes)

    def extend(self, ids: Sequence[str], texts: Sequence[Sequence[int]], titles: Sequence[Sequence[int]]) -> None:
        """Append the ids of passages, and the terms of their texts and titles, with repeats."""
        text_keys = _keys(texts)
        keys, key_of = np.unique(np.concatenate((text_keys, _keys(titles))), return_inverse=True)
        in_text, in_title = np.split(key_of, [len(text_keys)])
        terms = np.empty(len(keys), TERM)
        terms["term"] = keys & _TERM_MASK
        terms["text"] = np.bincount(in_text, minlength=len(keys)).clip(max=_MAX_COUNT)
        terms["title"] = np.bincount(in_title, minlength=len(keys)).clip(max=_MAX_COUNT)
        passages = np.empty(len(texts), PASSAGE)
        sizes = np.bincount((keys >> _TERM_BITS).astype(np.int64), minlength=len(texts))
        passages["end"] = len(self._terms) + np.cumsum(sizes)
        encoded = [id.encode() for id in ids]
        passages["id_end"] = len(self._ids) + np.cumsum([len(id) for id in encoded])
        passages["text"] = [len(tokens) for tokens in texts]
        passages["title"] = [len(tokens) for tokens in titles]
        self._terms.append(terms)
        self._passages.append(passages)
        self._ids.append(np.frombuffer(b"".join(encoded), _BYTE))

    def sync(self) -> dict[str, Extent]:
        """Sync the files; return their names and extents."""
        return self._terms.sync() | self._passages.sync() | self._ids.sync()

    def close(self) -> None:
        self._terms.close()
        self._passages.close()
        self._ids.close()


def _keys(rows: Sequence[Sequence[int]]) -> NDArray[np.uint64]:
    """Return row << 32 | term for each term."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    terms = np.fromiter(chain.from_iterable(rows), np.uint64, int(lengths.sum()))
    indexes = np.arange(len(rows), dtype=np.uint64)
    return np.repeat(indexes << _TERM_BITS, lengths) | terms
