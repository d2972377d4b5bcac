"""The index of a collection: the passages that have each term, with counts, and the lengths and id of each passage.

A term is a token, or a meta value, for filters (:func:`meta_token`). The postings of all terms are one array, ascending
by term and passage; another has the start of each term's. A commit merges them with what was added into new files,
without deleted passages, so readers of earlier states keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from convqa.stores.base import Doubles, Floats, Integers, SearchParams
from convqa.stores.embedded.files import BYTE, NUMBER, OFFSET, Array, ArrayWriter, Mask, Sizes, array
from convqa.text.bm25 import K1, B, idf, norms

Rows = Sequence[Sequence[int]]
"""The term numbers of passages."""

POSTING = np.dtype([("row", NUMBER), ("text", "<u2"), ("title", "<u2")])
"""The number of a passage that has a term, and the term's counts in text and title."""
PASSAGE = np.dtype([("id_end", OFFSET), ("text", NUMBER), ("title", NUMBER)])
"""The end of a passage's id, which starts at that of the passage before, and its numbers of tokens."""

PASSAGES, IDS = "passages", "ids"
_PREFIX = "postings."
_ITEMS, _STARTS = f"{_PREFIX}items", f"{_PREFIX}starts"
"""Files of a commit; their names end in its generation."""
_RUN_TERMS, _RUN_ITEMS = f"{_PREFIX}run-terms", f"{_PREFIX}run-items"

_POSTINGS_PER_RUN = 1 << 22
"""Postings in memory at a time, about 12 bytes each, while they are written."""
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
        sizes: Sizes,
        live: Mask,
    ) -> None:
        self._live = live
        self._items, self._starts = _open(data, sizes)
        self._passages = array(data, PASSAGES, PASSAGE, sizes)
        self._ids = array(data, IDS, BYTE, sizes).data
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
        scores = np.zeros(len(self._passages))
        for term, weight in weights.items():
            postings = self._of(term)
            rows = postings["row"]
            for columns, field_weight in fields.items():
                passages, norm_of = self._field(columns, k1, b)
                counts = _sum(postings, columns)
                df = np.count_nonzero(counts)
                counts /= counts + norm_of[rows]
                counts *= field_weight * weight * idf(df, passages)
                scores[rows] += counts
        return scores.astype(np.float32)

    def accepted(self, groups: Sequence[Sequence[int]]) -> Mask:
        """Return whether a passage is live and has a term of each group, by number."""
        accepted = self._live
        for terms in groups:
            has_term = np.zeros(len(accepted), bool)
            for term in terms:
                has_term[self._of(term)["row"]] = True
            accepted = accepted & has_term
        return accepted

    def ids(self, numbers: Integers) -> list[str]:
        """Return the ids of passages. Every hit needs one, which takes SQLite three times as long."""
        ends = self._passages["id_end"]
        starts = np.where(numbers > 0, ends[numbers - 1], 0)
        slices = map(slice, starts.tolist(), ends[numbers].tolist())
        return [str(self._ids[each], "utf-8") for each in slices]

    def _of(self, term: int) -> Array:
        """Return the postings of a term."""
        return self._items[self._starts[term] : self._starts[term + 1]]


def _open(data: Path, sizes: Sizes) -> tuple[Array, Array]:
    """Return the postings of the last commit, and the start of each term's, with their end."""
    names = {name.rpartition(".")[0]: name for name in sizes}
    items = array(data, names.get(_ITEMS, ""), POSTING, sizes)
    starts = array(data, names.get(_STARTS, ""), OFFSET, sizes)
    if len(starts) > 0 and starts[-1] != len(items):
        raise ValueError("the last posting does not end at the end of the postings")
    return items, starts


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


def meta_token(term: str) -> str:
    """Return the token of the term of a meta value. Those of texts have no space."""
    return f" {term}"


def _sum(records: Array, columns: Sequence[str]) -> Doubles:
    """Return the sums of columns, as a new array."""
    total = np.zeros(len(records))
    for column in columns:
        total += records[column]
    return total


class PostingWriter:
    """Adds passages to the index. Their postings wait in memory, and beyond that in sorted runs in a file."""

    def __init__(self, arrays: ArrayWriter) -> None:
        self._arrays = arrays
        self._waiting: list[tuple[Array, Array]] = []
        self._count = 0
        self._run_ends = [0]

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
        ends = np.cumsum([len(column) for column in columns])
        in_text = key_of[: ends[0]]
        in_title = key_of[ends[0] : ends[1]]
        postings = np.empty(len(keys), POSTING)
        postings["row"] = keys & (2**_NUMBER_BITS - 1)
        postings["text"] = np.bincount(in_text, minlength=len(keys)).clip(max=_MAX_COUNT)
        postings["title"] = np.bincount(in_title, minlength=len(keys)).clip(max=_MAX_COUNT)
        self._add((keys >> _NUMBER_BITS).astype(NUMBER), postings)
        encoded = [id.encode() for id in ids]
        passages = np.empty(len(ids), PASSAGE)
        end = self._arrays.sizes.get(IDS, 0)
        passages["id_end"] = end + np.cumsum([len(id) for id in encoded])
        passages["text"] = [len(terms) for terms in texts]
        passages["title"] = [len(terms) for terms in titles]
        self._arrays.append(PASSAGES, passages)
        self._arrays.append(IDS, np.frombuffer(b"".join(encoded), BYTE))

    def _add(self, terms: Array, postings: Array) -> None:
        """Add a posting for each term. The passages of later calls have larger numbers."""
        self._waiting.append((terms, postings))
        self._count += len(terms)
        if self._count - self._run_ends[-1] >= _POSTINGS_PER_RUN:
            self._write_run()

    def _write_run(self) -> None:
        if not self._waiting:
            return
        terms, postings = map(np.concatenate, zip(*self._waiting, strict=True))
        order = np.argsort(terms, kind="stable")
        self._arrays.append(_RUN_TERMS, terms[order])
        self._arrays.append(_RUN_ITEMS, postings[order])
        self._run_ends.append(self._count)
        self._waiting = []

    def commit(
        self,
        generation: int,
        terms: int,
        live: Mask,
    ) -> None:
        """Merge what was added with the postings of the last commit.

        :param terms: the number of terms.
        :param live: whether to keep the postings of a passage.
        """
        self._write_run()
        self._arrays.sync()
        data, sizes = self._arrays.data, self._arrays.sizes
        old_items, old_starts = _open(data, sizes)
        # New terms have no postings yet.
        starts = np.append(old_starts, np.full(terms + 1 - len(old_starts), len(old_items)))
        run_terms = array(data, _RUN_TERMS, NUMBER, sizes)
        run_items = array(data, _RUN_ITEMS, POSTING, sizes)
        runs = [slice(start, end) for start, end in pairwise(self._run_ends)]
        counts = np.diff(starts)
        for run in runs:
            counts += np.bincount(run_terms[run], minlength=terms)
        self._arrays.drop(_PREFIX)
        kept_counts = [np.zeros(1, np.int64)]
        for first, last in pairwise(_bounds(counts).tolist()):
            old_counts = np.diff(starts[first : last + 1])
            old_terms = np.repeat(np.arange(first, last), old_counts)
            parts = [(old_terms, old_items[starts[first] : starts[last]])]
            for run in runs:
                start, end = run.start + np.searchsorted(run_terms[run], (first, last))
                parts.append((run_terms[start:end], run_items[start:end]))
            term_of, postings = map(np.concatenate, zip(*parts, strict=True))
            kept = live[postings["row"]]
            term_of, postings = term_of[kept], postings[kept]
            self._arrays.append(f"{_ITEMS}.{generation}", postings[np.argsort(term_of, kind="stable")])
            kept_counts.append(np.bincount(term_of - first, minlength=last - first))
        self._arrays.append(f"{_STARTS}.{generation}", np.cumsum(np.concatenate(kept_counts)))


def _bounds(counts: Integers) -> Integers:
    """Return the bounds of ranges of terms, which have about ``_POSTINGS_PER_RUN`` postings together."""
    ends = np.cumsum(counts)
    inner = np.searchsorted(ends, np.arange(_POSTINGS_PER_RUN, counts.sum(), _POSTINGS_PER_RUN)) + 1
    return np.unique([0, *inner, len(counts)])


def _keys(first: int, rows: Rows) -> Integers:
    """Return term << 32 | number of the passage, for each term."""
    lengths = [len(row) for row in rows]
    terms = np.fromiter(chain.from_iterable(rows), np.int64, sum(lengths))
    numbers = np.arange(first, first + len(rows))
    return terms << _NUMBER_BITS | np.repeat(numbers, lengths)
