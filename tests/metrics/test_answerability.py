from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.metrics.answerability import auc

turns = st.lists(st.tuples(st.sampled_from([0, 0.2, 0.5, 0.9, 1]), st.booleans()), min_size=2).filter(
    lambda found: len({can for _, can in found}) == 2
)


@settings(deadline=None)
@given(turns)
def test_auc_counts_pairs(found):
    answerable = [score for score, can in found if can]
    unanswerable = [score for score, can in found if not can]
    pairs = [(yes, no) for yes in answerable for no in unanswerable]
    expected = sum((yes > no) + (yes == no) / 2 for yes, no in pairs) / len(pairs)
    assert auc(answerable, unanswerable) == pytest.approx(expected)
    assert auc(unanswerable, answerable) == pytest.approx(1 - expected)
