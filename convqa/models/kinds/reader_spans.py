"""The best spans of a passage: a search over the band of all spans up to a length, exact and without overlaps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from convqa.models.kinds.reader_input import PassageTokens

Logits = NDArray[np.float32]


class Found(NamedTuple):
    """A span, half-open code points of the passage, and how far it is above "nothing answers"."""

    start: int
    end: int
    margin: float


class Band:
    """The margin of every span of a passage that is at most ``longest`` tokens long.

    A span has the best margin of the windows that it is whole in. It begins and ends with a token that is no white
    space and crosses no mark of a section. Takes 4 x ``longest`` bytes for each token of the passage.
    """

    def __init__(self, passage: PassageTokens, longest: int) -> None:
        self._offsets = np.array(passage.offsets, dtype=np.int64).reshape(-1, 2)
        self._sections = np.array(passage.sections, dtype=np.int64)
        tokens = len(passage.ids)
        # Row: a span's first token; column: how many tokens behind it the last one is.
        self._margins = np.full((tokens, min(longest, tokens)), -np.inf, dtype=np.float32)

    def add(self, first: int, starts: Logits, ends: Logits, null: float) -> None:
        """Add the scores of a window.

        :param first: the place in the passage of the window's first token.
        :param starts, ends: a logit for each of the passage's tokens in the window.
        :param null: the sum of both logits of "nothing answers".
        """
        seen = self._margins[first : first + len(starts)]
        made = (starts - np.float32(null))[:, None] + _following(ends, -np.inf, seen.shape[1])
        np.maximum(seen, made, out=seen)

    def best(self, most: int) -> list[Found]:
        """The best span, then the best that does not overlap it, and so on; of equals the first, then the shortest.

        Ends the search: what was found is taken out of the band.
        """
        margins, width = self._margins, self._margins.shape[1]
        if not margins.size:
            return []
        self._forbid()
        found: list[Found] = []
        while len(found) < most:
            first, further = divmod(int(margins.argmax()), width)
            margin = float(margins[first, further])
            if margin == -np.inf:
                break
            start, end = int(self._offsets[first, 0]), int(self._offsets[first + further, 1])
            found.append(Found(start, end, margin))
            self._take(start, end)
        return found

    def _forbid(self) -> None:
        """Take out what is no span: no text at an end, or a mark inside."""
        width = self._margins.shape[1]
        full = self._offsets[:, 0] < self._offsets[:, 1]
        allowed = _following(self._sections, -1, width) == self._sections[:, None]
        allowed &= _following(self._offsets[:, 1], 0, width) > self._offsets[:, :1]
        allowed &= _following(full, False, width)
        allowed &= full[:, None]
        np.copyto(self._margins, -np.inf, where=~allowed)

    def _take(self, start: int, end: int) -> None:
        """Take out every span that has one of these characters: tokens can share some."""
        width = self._margins.shape[1]
        touched = np.flatnonzero((self._offsets[:, 0] < end) & (self._offsets[:, 1] > start))
        low, high = int(touched[0]), int(touched[-1])
        self._margins[low : high + 1] = -np.inf
        before = min(width - 1, low)
        reaching = np.arange(width) >= np.arange(before, 0, -1)[:, None]
        np.copyto(self._margins[low - before : low], -np.inf, where=reaching)


def _following(values: NDArray[Any], beyond: float, width: int) -> NDArray[Any]:
    """Row i holds the ``width`` values from place i on; behind the last there is ``beyond``."""
    padded = np.concatenate([values, np.full(width - 1, beyond, dtype=values.dtype)])
    return sliding_window_view(padded, width)
