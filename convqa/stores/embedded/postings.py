"""The index of a collection: the passages that have each term, with counts, and the lengths and id of each passage.

A term is a token, or a meta value, for filters (:func:`meta_token`). Deleted passages have no postings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import chain
from pathlib import Path

import numpy as np

from convqa.domain import MetaValue
from convqa.stores.base import Doubles, Floats, Integers, SearchParams
from convqa.stores.content import meta_term
from convqa.stores.embedded.files import BYTE, NUMBER, OFFSET, Array, ArrayWriter, Extents, Mask, array
from convqa.stores.embedded.lists import Lists, ListWriter
from convqa.text.bm25 import K1, B, idf, norms

Rows = Sequence[Sequence[int]]
"""The term numbers of passages."""

PREFIX = "postings."
POSTING = np.dtype([("row", NUMBER), ("text", "<u2"), ("title", "<u2")])
"""The number of a passage that has a term, and the term's counts in text and title."""
PASSAGES, IDS = "passages", "ids"
PASSAGE = np.dtype([("id_end", OFFSET), ("text", NUMBER), ("title", NUMBER)])
"""The end of a passage's id, which starts at that of the passage before, and its numbers of tokens."""

_MAX_COUNT = 2**16 - 1
_NUMBER_BITS = 32
_CACHED_FIELDS = 4
"""Each with 8 bytes per passage."""


class Postings:
    """Reader of one state.

    :param live: whether a passage is not deleted, by number.
    """

    def __init__(
        self,
        data: Path,
        extents: Extents,
        live: Mask,
    ) -> None:
        self._live = live
        self._lists = Lists(data, PREFIX, POSTING, extents)
        self._passages = array(data, PASSAGES, PASSAGE, extents)
        self._ids = array(data, IDS, BYTE, extents).data
        if len(live) > 0 and self._passages["id_end"][-1] != len(self._ids):
            raise ValueError("the last id does not end at the end of the ids")
        self._field = lru_cache(_CACHED_FIELDS)(partial(_field, self._passages, live))

    def scores(self, weights: Mapping[int, float], params: SearchParams) -> Floats:
        """Return the score of each passage by number; that of a deleted one is 0.

        :param weights: term number -> weight.
        """
        k1 = K1 if params.k1 is None else params.k1
        b = B if params.b is None else params.b
        fields: dict[tuple[str, ...], float] = {("text", "title"): 1.0}
        if params.title_weight is not None:
            fields = {("text",): 1.0, ("title",): params.title_weight}

        def score(term: int, postings: Array, numbers: Integers) -> Doubles:
            parts = []
            for columns, weight in fields.items():
                passages, norm_of = self._field(columns, k1, b)
                counts = _sum(postings, columns)
                df = np.count_nonzero(counts)
                counts /= counts + norm_of[numbers]
                counts *= weight * weights[term] * idf(df, passages)
                parts.append(counts)
            return reduce(np.add, parts)

        return self._lists.sums(list(weights), score, len(self._passages)).astype(np.float32)

    def accepted(self, groups: Sequence[Sequence[int]]) -> Mask:
        """Return whether a passage is live and has a term of each group, by number."""
        accepted = self._live
        for terms in groups:
            has_term = np.zeros(len(accepted), bool)
            for term in terms:
                has_term[self._lists[term]["row"]] = True
            accepted = accepted & has_term
        return accepted

    def ids(self, numbers: Integers) -> list[str]:
        """Return the ids of passages. Every hit needs one, which takes SQLite three times as long."""
        ends = self._passages["id_end"]
        starts = np.where(numbers > 0, ends[numbers - 1], 0)
        slices = map(slice, starts.tolist(), ends[numbers].tolist())
        return [str(self._ids[each], "utf-8") for each in slices]


def _field(
    passages: Array,
    live: Mask,
    columns: Sequence[str],
    k1: float,
    b: float,
) -> tuple[int, Doubles]:
    """Return the number of live passages with a token in a field, and the norm of each passage's length there."""
    lengths = _sum(passages, columns)
    live_lengths = lengths[live]
    count = int(np.count_nonzero(live_lengths))
    average = live_lengths.sum() / count if count else 1.0
    return count, norms(lengths, average, k1, b)


def meta_token(name: str, value: MetaValue) -> str:
    """Return the token of a meta value. Those of texts have no space."""
    return f" {meta_term(name, value)}"


def _sum(records: Array, columns: Sequence[str]) -> Doubles:
    if len(columns) == 1:
        return records[columns[0]].astype(np.float64)
    total: Doubles = np.add(*(records[column] for column in columns), dtype=np.float64)
    return total


class PostingWriter(ListWriter):
    """Adds passages to the index."""

    def __init__(self, arrays: ArrayWriter) -> None:
        super().__init__(arrays, PREFIX, POSTING)

    def add_passages(
        self,
        first: int,
        ids: Sequence[str],
        texts: Rows,
        titles: Rows,
        meta: Rows,
    ) -> None:
        """Add passages by the terms of their texts and titles, with repeats, and of their meta values.

        :param first: the number of the first passage; the others follow.
        """
        columns = [_keys(first, rows) for rows in (texts, titles, meta)]
        keys, key_of = np.unique(np.concatenate(columns), return_inverse=True)
        in_text, in_title, _ = np.split(key_of, np.cumsum([len(column) for column in columns[:2]]))
        postings = np.empty(len(keys), POSTING)
        postings["row"] = keys & (2**_NUMBER_BITS - 1)
        postings["text"] = np.bincount(in_text, minlength=len(keys)).clip(max=_MAX_COUNT)
        postings["title"] = np.bincount(in_title, minlength=len(keys)).clip(max=_MAX_COUNT)
        self.add(keys >> _NUMBER_BITS, postings)
        encoded = [id.encode() for id in ids]
        passages = np.empty(len(ids), PASSAGE)
        passages["id_end"] = self._arrays.count(IDS, BYTE) + np.cumsum([len(id) for id in encoded])
        passages["text"] = [len(terms) for terms in texts]
        passages["title"] = [len(terms) for terms in titles]
        self._arrays.append(PASSAGES, passages)
        self._arrays.append(IDS, np.frombuffer(b"".join(encoded), BYTE))


def _keys(first: int, rows: Rows) -> Integers:
    """Return term << 32 | number of the passage, for each term."""
    lengths = [len(row) for row in rows]
    terms = np.fromiter(chain.from_iterable(rows), np.int64, sum(lengths))
    numbers = np.arange(first, first + len(rows))
    return terms << _NUMBER_BITS | np.repeat(numbers, lengths)
