"""The ranking measures against trec_eval (by ir-measures), on wild ids, ties and scores beyond 32 bits."""

import math

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from convqa.metrics.ranking import ndcg, ranked, recall, reciprocal_rank

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


def test_the_best_ranking_gives_1_even_if_it_is_cut():
    relevant = [f"p{number}" for number in range(12)]
    assert math.isclose(ndcg(relevant, relevant[:10], 10), 1)
