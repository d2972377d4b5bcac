"""The ranking measures against trec_eval (by ir-measures), on wild ids, ties and scores beyond 32 bits."""

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from convqa.metrics.ranking import geval_ndcg, ndcg, ranked, recall, reciprocal_rank

ids = st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=3)
scores = st.integers(-3, 3).map(float) | st.floats(-100, 100) | st.sampled_from([15.0000001, 15.0000002])


@settings(deadline=None)
@given(run=st.dictionaries(ids, scores, min_size=1, max_size=12), relevant=st.sets(ids, min_size=1, max_size=4))
def test_as_trec_eval(run, relevant):
    measures = [RR, nDCG @ 3, nDCG @ 10, R @ 1, R @ 10]
    found = ir_measures.pytrec_eval.calc_aggregate(measures, {"q": dict.fromkeys(relevant, 1)}, {"q": run})
    ranking = ranked(run)
    assert reciprocal_rank(relevant, ranking) == pytest.approx(found[RR])
    assert ndcg(relevant, ranking, 3) == pytest.approx(found[nDCG @ 3])
    assert ndcg(relevant, ranking, 10) == pytest.approx(found[nDCG @ 10])
    assert recall(relevant, ranking, 1) == pytest.approx(found[R @ 1])
    assert recall(relevant, ranking, 10) == pytest.approx(found[R @ 10])


def test_ties_go_by_bytes_descending():
    assert ranked(dict.fromkeys(["_p9", "_p10", "é", "z", "Z", "\U0001f600", "\uffff"], 1.0)) == [
        "\U0001f600", "\uffff", "é", "z", "_p9", "_p10", "Z",
    ]  # fmt: skip


def test_without_relevant_passages_all_is_0():
    assert (reciprocal_rank([], ["a"]), ndcg([], ["a"], 3), recall([], ["a"], 3)) == (0, 0, 0)


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
def test_geval_ndcg(relevant, ranking, k, value):
    assert geval_ndcg(relevant.split(), ranking.split(), k) == pytest.approx(value, abs=5e-8)
