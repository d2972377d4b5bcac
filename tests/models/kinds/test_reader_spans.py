"""The search for spans, against a plain one over all spans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.models.kinds.reader import Band, ScoredSpan
from convqa.models.kinds.reader_input import PassageTokens, Window
from convqa.models.types import TokenSequence


def words(number, sections=None):
    """A passage of words of one letter, each a token."""
    return PassageTokens(
        list(range(number)), [(2 * place, 2 * place + 1) for place in range(number)], sections or [0] * number
    )


def band(passage, longest, *windows):
    made = Band(passage, longest)
    for first, starts, ends, null in windows:
        window = Window(TokenSequence([], []), 1, first, first + len(starts))
        made.add(window, np.array([null, *starts], np.float32), np.array([0, *ends], np.float32))
    return made


def plainly(passage, longest, windows, most):
    """The same by hand: all spans, best first, each that overlaps none before it."""
    margins = {}
    for first, starts, ends, null in windows:
        for i, start in enumerate(starts):
            for j in range(i, min(i + longest, len(ends))):
                span = first + i, first + j
                margins[span] = max(margins.get(span, -np.inf), float(np.float32(start) - np.float32(null)) + ends[j])
    found = []
    for (i, j), margin in sorted(margins.items(), key=lambda item: (-item[1], item[0])):
        start, end = passage.offsets[i][0], passage.offsets[j][1]
        whole = all(passage.offsets[place][0] < passage.offsets[place][1] for place in (i, j))
        apart = all(one.end <= start or end <= one.start for one in found)
        if whole and apart and passage.sections[i] == passage.sections[j] and len(found) < most:
            found.append(ScoredSpan(start, end, margin))
    return found


# Whole numbers, so that sums are exact in 32 bits and equal margins are common.
logits = st.integers(-40, 40).map(float)


@st.composite
def searches(draw):
    """Passages whose tokens share characters or are white space, with their windows."""
    offsets, at = [], 0
    for _ in range(draw(st.integers(0, 14))):
        start = max(at + draw(st.integers(-1, 2)), offsets[-1][0] if offsets else 0, 0)
        offsets.append((start, max(start + draw(st.integers(0, 3)), offsets[-1][1] if offsets else 0)))
        at = offsets[-1][1]
    number = len(offsets)
    sections = list(np.cumsum(draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=number, max_size=number))))
    windows = []
    for first in range(0, number, draw(st.integers(2, 6))):
        length = min(draw(st.integers(1, 8)), number - first)
        some = st.lists(logits, min_size=length, max_size=length)
        windows.append((first, draw(some), draw(some), draw(logits)))
    return PassageTokens(list(range(number)), offsets, list(map(int, sections))), windows


@settings(deadline=None)
@given(searches(), st.integers(1, 20), st.integers(1, 6))
def test_it_finds_what_a_search_over_all_spans_finds(search, longest, most):
    passage, windows = search
    assert band(passage, longest, *windows).best(most) == plainly(passage, longest, windows, most)


def test_no_span_is_longer_than_was_asked_for():
    starts, ends = [9, 0, 0, 0, 0], [0, 0, 0, 1, 9]
    assert band(words(5), 5, (0, starts, ends, 0)).best(1) == [ScoredSpan(0, 9, 18)]
    assert band(words(5), 4, (0, starts, ends, 0)).best(1) == [ScoredSpan(0, 7, 10)]
    assert all(found.end - found.start == 1 for found in band(words(5), 1, (0, starts, ends, 0)).best(9))


def test_a_span_of_weak_ends_is_found_too():
    # Neither its start nor its end is among the twenty best; the spans that have those overlap the first.
    starts, ends = [50.0] * 30 + [1.0, 0.0, 0.0], [50.0] * 30 + [0.0, 0.0, 1.0]
    found = band(words(33), 30, (0, starts, ends, 0)).best(40)
    assert len(found) == 31 and found[-1] == ScoredSpan(60, 65, 2)


def test_windows_are_merged_by_the_best_margin():
    one = (0, [0, 5, 0], [0, 5, 0], 4)
    two = (1, [5, 0, 0], [5, 0, 0], 1)
    assert band(words(4), 3, one, two).best(1) == [ScoredSpan(2, 3, 9)] == band(words(4), 3, two, one).best(1)
    assert band(words(4), 3, one).best(1) == [ScoredSpan(2, 3, 6)]


def test_what_one_window_chose_hides_nothing_of_another():
    # Alone, the first window has (0, 1) as its best, which the second's best makes impossible: (1, 1) must come back.
    one = (0, [8, 4, 0], [0, 8, 0], 0)
    two = (0, [9, 0, 0], [9, 0, 0], 0)
    assert band(words(3), 3, one, two).best(2) == [ScoredSpan(0, 1, 18), ScoredSpan(2, 3, 12)]


def test_no_span_crosses_a_mark():
    starts, ends = [9, 0, 0, 0], [0, 0, 0, 9]
    assert band(words(4, [0, 0, 1, 1]), 4, (0, starts, ends, 0)).best(2) == [ScoredSpan(0, 1, 9), ScoredSpan(4, 7, 9)]


@pytest.mark.parametrize("most", [0, 3])
def test_nothing_to_search(most):
    assert band(words(0), 30).best(most) == [] == band(words(4), 30).best(most)
