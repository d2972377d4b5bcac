"""The forward file: the distinct terms of each passage, with their counts in text and title, its lengths and its id.

Beside it lie the document frequencies of each commit. Passages are scored from these files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from convqa.stores.base import Floats, Integers, SearchParams
from convqa.stores.embedded.files import BYTE, NUMBER, OFFSET, Array, ArrayWriter, Mask, array
from convqa.stores.embedded.manifest import CollectionManifest
from convqa.text.bm25 import K1, B, bm25

TERMS, PASSAGES, IDS = "forward.terms", "forward.passages", "forward.ids"
TERM = np.dtype([("term", NUMBER), ("text", "<u2"), ("title", "<u2")])
"""A term of a passage, with its counts in text and title."""
PASSAGE = np.dtype([("end", OFFSET), ("id_end", OFFSET), ("text", NUMBER), ("title", NUMBER)])
"""The ends of a passage's terms and id, which start at those of the passage before, and its numbers of tokens."""
FREQUENCIES = "frequencies."
"""Start of the name of the file with the document frequency of each term in each field; the generation follows."""

_TEXT, _TITLE, _ALL = range(3)
"""The fields. ``_ALL`` is title and text together."""
_FIELDS = 3
_MAX_COUNT = 2**16 - 1
_TERM_BITS = 32
_PASSAGES_PER_BLOCK = 10_000


class Forward:
    """Reader of one state.

    :param live: whether a passage is not deleted, by number.
    """

    def __init__(
        self,
        data: Path,
        manifest: CollectionManifest,
        live: Mask,
    ) -> None:
        self._live = live
        self._terms = array(data, TERMS, TERM, manifest.files)
        self._passages = array(data, PASSAGES, PASSAGE, manifest.files)
        self._ids = array(data, IDS, BYTE, manifest.files).data
        frequencies = array(data, f"{FREQUENCIES}{manifest.generation}", NUMBER, manifest.files)
        self._frequencies = frequencies.reshape(_FIELDS, -1)

    def scores(
        self,
        numbers: Integers,
        weights: Mapping[int, float],
        params: SearchParams,
    ) -> Floats:
        """Return the exact scores of passages.

        :param weights: term number -> weight.
        """
        if len(numbers) == 0:
            return np.empty(0, np.float32)
        k1 = K1 if params.k1 is None else params.k1
        b = B if params.b is None else params.b
        terms = np.fromiter(weights, np.int64, len(weights))
        values = np.fromiter(weights.values(), float, len(weights))
        counts = self._counts(numbers, terms)
        lengths = _lengths(self._passages[numbers])
        fields = {_ALL: 1.0} if params.title_weight is None else {_TEXT: 1.0, _TITLE: params.title_weight}
        scores = np.zeros(len(numbers))
        for field, weight in fields.items():
            passages, average = self._totals[field]
            df = self._frequencies[field, terms]
            scores += weight * bm25(counts[field], values, df, lengths[field], passages, average, k1, b)
        return scores.astype(np.float32)

    def _counts(self, numbers: Integers, terms: Integers) -> tuple[Array, ...]:
        """Return the counts of terms in passages by field, of shape (terms, passages)."""
        slots = np.zeros(self._frequencies.shape[1], np.uint16)
        slots[terms] = np.arange(1, len(terms) + 1)
        held, ends = self._held(numbers)
        positions = slots.take(held["term"])
        hits = np.flatnonzero(positions)
        cells = positions[hits] - 1, np.searchsorted(ends, hits, side="right")
        text, title = np.zeros((2, len(terms), len(numbers)), NUMBER)
        text[cells] = held["text"][hits]
        title[cells] = held["title"][hits]
        return text, title, text + title

    def _held(self, numbers: Integers) -> tuple[Array, Integers]:
        """Return the terms of passages, joined, and where those of each end.

        Arrays over all terms of all passages take less time than a loop over passages.
        """
        starts, ends = self._bounds("end", numbers)
        joined_ends = np.cumsum(ends - starts)
        indexes = np.arange(joined_ends[-1]) + np.repeat(ends - joined_ends, ends - starts)
        return self._terms.take(indexes), joined_ends

    def _bounds(self, column: str, numbers: Integers) -> tuple[Integers, Integers]:
        ends = self._passages[column]
        return np.where(numbers > 0, ends[numbers - 1], 0), ends[numbers]

    @cached_property
    def _totals(self) -> list[tuple[int, float]]:
        """The number of passages with a token in a field, and the average number of its tokens there."""
        totals = []
        for lengths in _lengths(self._passages[self._live]):
            count = int(np.count_nonzero(lengths))
            totals.append((count, int(lengths.sum()) / count if count else 1.0))
        return totals

    def ids(self, numbers: Integers) -> list[str]:
        """Return the ids of passages. Every hit needs one, which takes SQLite three times as long."""
        starts, ends = self._bounds("id_end", numbers)
        slices = map(slice, starts.tolist(), ends.tolist())
        return [str(self._ids[each], "utf-8") for each in slices]

    def document_frequencies(self, terms: int) -> Array:
        """Return the number of live passages that have each term in each field, of shape (fields, terms)."""
        frequencies = np.zeros((_FIELDS, terms), NUMBER)
        numbers = np.flatnonzero(self._live)
        for start in range(0, len(numbers), _PASSAGES_PER_BLOCK):
            held, _ = self._held(numbers[start : start + _PASSAGES_PER_BLOCK])
            columns = held["term"][held["text"] > 0], held["term"][held["title"] > 0], held["term"]
            for row, column in enumerate(columns):
                frequencies[row] += np.bincount(column, minlength=terms).astype(NUMBER)
        return frequencies


def _lengths(passages: Array) -> tuple[Array, ...]:
    """Return the numbers of tokens of passages by field."""
    return passages["text"], passages["title"], passages["text"] + passages["title"]


def append(
    arrays: ArrayWriter,
    ids: Sequence[str],
    texts: Sequence[Sequence[int]],
    titles: Sequence[Sequence[int]],
) -> None:
    """Append the ids of passages, and the terms of their texts and titles, with repeats."""
    text_keys = _keys(texts)
    keys, key_of = np.unique(np.concatenate((text_keys, _keys(titles))), return_inverse=True)
    in_text, in_title = np.split(key_of, [len(text_keys)])
    terms = np.empty(len(keys), TERM)
    terms["term"] = keys & (2**_TERM_BITS - 1)
    terms["text"] = np.bincount(in_text, minlength=len(keys)).clip(max=_MAX_COUNT)
    terms["title"] = np.bincount(in_title, minlength=len(keys)).clip(max=_MAX_COUNT)
    encoded = [id.encode() for id in ids]
    passages = np.empty(len(ids), PASSAGE)
    sizes = np.bincount(keys >> _TERM_BITS, minlength=len(ids))
    passages["end"] = arrays.count(TERMS, TERM) + np.cumsum(sizes)
    passages["id_end"] = arrays.count(IDS, BYTE) + np.cumsum([len(id) for id in encoded])
    passages["text"] = [len(tokens) for tokens in texts]
    passages["title"] = [len(tokens) for tokens in titles]
    arrays.append(TERMS, terms)
    arrays.append(PASSAGES, passages)
    arrays.append(IDS, np.frombuffer(b"".join(encoded), BYTE))


def _keys(rows: Sequence[Sequence[int]]) -> Integers:
    """Return row << 32 | term for each term."""
    lengths = [len(row) for row in rows]
    terms = np.fromiter(chain.from_iterable(rows), np.int64, sum(lengths))
    return np.repeat(np.arange(len(rows)) << _TERM_BITS, lengths) | terms
