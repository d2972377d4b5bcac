"""Find the best disjoint spans of a passage, by an exact search over all spans up to a length."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from convqa.models.kinds.reader_input import PassageTokens

Logits = NDArray[np.float32]


class ScoredSpan(NamedTuple):
    """A span in half-open code points of the passage, and its margin over no answer."""

    start: int
    end: int
    margin: float


class Band:
    """The margins of all spans of a passage with at most ``longest`` tokens.

    A span has its best margin over the windows that contain it. It begins and ends with a token that is not white space
    and stays within a section. Needs 4 x ``longest`` bytes per token of the passage.
    """

    def __init__(self, passage: PassageTokens, longest: int) -> None:
        self._offsets = np.array(passage.offsets, dtype=np.int64).reshape(-1, 2)
        self._sections = np.array(passage.sections, dtype=np.int64)
        tokens = len(passage.ids)
        # Row: the first token of a span; column: the distance to its last token.
        self._margins = np.full((tokens, min(longest, tokens)), -np.inf, dtype=np.float32)

    def add(self, first: int, starts: Logits, ends: Logits, null: float) -> None:
        """Add the scores of a window.

        :param first: index in the passage of the window's first token.
        :param starts, ends: logits of the passage's tokens in the window.
        :param null: sum of the two logits of no answer.
        """
        rows = self._margins[first : first + len(starts)]
        margins = (starts - np.float32(null))[:, None] + _following(ends, -np.inf, rows.shape[1])
        np.maximum(rows, margins, out=rows)

    def best(self, most: int) -> list[ScoredSpan]:
        """Return the best span, then the best that does not overlap it, and so on; ties by position, then length.

        Can be called once, because it removes the spans it returns.
        """
        margins, width = self._margins, self._margins.shape[1]
        if not margins.size:
            return []
        self._forbid()
        spans: list[ScoredSpan] = []
        while len(spans) < most:
            first, further = divmod(int(margins.argmax()), width)
            margin = float(margins[first, further])
            if margin == -np.inf:
                break
            start, end = int(self._offsets[first, 0]), int(self._offsets[first + further, 1])
            spans.append(ScoredSpan(start, end, margin))
            self._remove(start, end)
        return spans

    def _forbid(self) -> None:
        """Remove spans that begin or end with white space or cross a section."""
        width = self._margins.shape[1]
        full = self._offsets[:, 0] < self._offsets[:, 1]
        allowed = _following(self._sections, -1, width) == self._sections[:, None]
        allowed &= _following(self._offsets[:, 1], 0, width) > self._offsets[:, :1]
        allowed &= _following(full, False, width)
        allowed &= full[:, None]
        np.copyto(self._margins, -np.inf, where=~allowed)

    def _remove(self, start: int, end: int) -> None:
        """Remove every span with one of these characters, which tokens can share."""
        width = self._margins.shape[1]
        touched = np.flatnonzero((self._offsets[:, 0] < end) & (self._offsets[:, 1] > start))
        low, high = int(touched[0]), int(touched[-1])
        self._margins[low : high + 1] = -np.inf
        before = min(width - 1, low)
        reaching = np.arange(width) >= np.arange(before, 0, -1)[:, None]
        np.copyto(self._margins[low - before : low], -np.inf, where=reaching)


def _following(values: NDArray[Any], beyond: float, width: int) -> NDArray[Any]:
    """Return an array whose row i has the ``width`` values from index i on, padded with ``beyond``."""
    padded = np.concatenate([values, np.full(width - 1, beyond, dtype=values.dtype)])
    return sliding_window_view(padded, width)
