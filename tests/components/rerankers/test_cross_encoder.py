"""A cross-encoder of random weights: its scores mean nothing, but they are the model's, and decide the order."""

from __future__ import annotations

import pytest

from convqa.components.rerankers.cross_encoder import CrossEncoder
from convqa.domain import Hit, Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.models import load_pair_scorer

PASSAGES = {
    id: Passage(id, text, title="Faust") for id, text in {"a": "Only Goethe.", "b": "Again.", "c": "And"}.items()
}
RANKING = Ranking(tuple(Hit(id, 9.0 - place, passage) for place, (id, passage) in enumerate(PASSAGES.items())))

pytestmark = pytest.mark.models


def rerank(model, ranking, question, **options):
    turns, rewrites = Turns((Turn(TurnId(1, 1), "q"),)), Rewrites((Rewrite(question, (Query("other words"),)),))
    (found,) = CrossEncoder(str(model), **options).run(turns, rewrites, Rankings((ranking,)))["rankings"]
    return found


def test_the_order_is_that_of_the_models_scores(cross_encoder):
    found = rerank(cross_encoder, RANKING, "Only Faust?")
    pairs = [("Only Faust?", f"Faust\n{passage.text}") for passage in PASSAGES.values()]
    expected = dict(zip(PASSAGES, load_pair_scorer(str(cross_encoder)).score(pairs).tolist(), strict=True))
    assert {hit.id: hit.score for hit in found.hits} == pytest.approx(expected, abs=1e-4)
    assert [hit.id for hit in found.hits] == sorted(expected, key=expected.get, reverse=True)


def test_what_it_cannot_read_stays(cross_encoder):
    assert rerank(cross_encoder, RANKING, " ") == RANKING
    mixed = Ranking((Hit("a", 9.0), *RANKING.hits[1:]))
    assert [hit.id for hit in rerank(cross_encoder, mixed, "Only Faust?").hits][-1] == "a"
    assert [hit.id for hit in rerank(cross_encoder, RANKING, "Only Faust?", depth=1).hits] == ["a", "b", "c"]


def test_the_model_is_in_a_runs_fingerprint(cross_encoder):
    station = CrossEncoder(str(cross_encoder))
    assert station.identity() == {"cross-encoder": load_pair_scorer(str(cross_encoder)).identity}
