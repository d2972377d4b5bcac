"""GEval's NDCG: its own fixture, and the cases in which it differs from trec_eval's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.metrics.ranking import geval_ndcg

HITS = [f"p{number}" for number in range(10)]
MISSES = [f"x{number}" for number in range(10)]


@pytest.mark.parametrize(
    ("relevant", "ranking", "k", "value"),
    [
        # GEval's fixture, whose mean is .711947
        ("foo bar baz baq", "aaa bbb foo bar", 3, 0.2346394),
        ("aaa bbb", "aaa ccc", 3, 0.6131472),
        ("", "rrr", 3, 1),
        ("xyz baz baq", "xyz baq baz", 3, 1),
        # repeats go before the ranking is cut
        ("a b", "a a x b", 3, 0.9197208),
        ("a b", "a b b b", 2, 1),
        ("z", " ".join([*MISSES, "z"]), 10, 0),
        ("z", " ".join([*MISSES[:9], "x0", "z"]), 10, 0.2890648),
        ("a b c", "x a y z b", 10, 0.4776237),
        ("a a b", "a b", 10, 1),
        (" ".join([*HITS, "more", "most"]), " ".join(HITS), 10, 1),
        ("a", "", 10, 0),
        ("", "", 10, 1),
    ],
)
def test_worked_cases(relevant, ranking, k, value):
    assert geval_ndcg(relevant.split(), ranking.split(), k) == pytest.approx(value, abs=5e-8)


ids = st.lists(st.sampled_from("abcdef"), max_size=14)


@given(relevant=ids, ranking=ids, k=st.integers(1, 12))
def test_it_is_a_share_that_repeats_do_not_change(relevant, ranking, k):
    found = geval_ndcg(relevant, ranking, k)
    assert 0 <= found <= 1
    assert found == geval_ndcg(set(relevant), list(dict.fromkeys(ranking)), k)
    assert geval_ndcg(relevant, list(dict.fromkeys(relevant)), k) == 1
