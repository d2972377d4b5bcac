"""A cross-encoder of random weights: its scores mean nothing, but they are the model's, and decide the order.

What is made of scores is tried with a scorer that is none: it counts letters.
"""

from __future__ import annotations

import numpy as np
import pytest

from convqa.components.rerankers import cross_encoder as module
from convqa.components.rerankers.cross_encoder import CrossEncoder
from convqa.domain import Hit, Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.models import load_pair_scorer
from convqa.stores import create_store

PASSAGES = {
    id: Passage(id, text, title="Faust") for id, text in {"a": "Only Goethe.", "b": "Again.", "c": "And"}.items()
}
RANKING = Ranking(tuple(Hit(id, 9.0 - place, passage) for place, (id, passage) in enumerate(PASSAGES.items())))


def rerank(model, ranking, question, **options):
    turns, rewrites = Turns((Turn(TurnId(1, 1), "q"),)), Rewrites((Rewrite(question, (Query("other words"),)),))
    (found,) = CrossEncoder(str(model), **options).run(turns, rewrites, Rankings((ranking,)))["rankings"]
    return found


@pytest.mark.models
def test_the_order_is_that_of_the_models_scores(cross_encoder):
    found = rerank(cross_encoder, RANKING, "Only Faust?")
    pairs = [("Only Faust?", f"Faust\n{passage.text}") for passage in PASSAGES.values()]
    expected = dict(zip(PASSAGES, load_pair_scorer(str(cross_encoder)).score(pairs).tolist(), strict=True))
    assert {hit.id: hit.score for hit in found.hits} == pytest.approx(expected, abs=1e-4)
    assert [hit.id for hit in found.hits] == sorted(expected, key=expected.get, reverse=True)


@pytest.mark.models
def test_what_it_cannot_read_stays(cross_encoder):
    assert rerank(cross_encoder, RANKING, " ") == RANKING
    mixed = Ranking((Hit("a", 9.0), *RANKING.hits[1:]))
    assert [hit.id for hit in rerank(cross_encoder, mixed, "Only Faust?").hits][-1] == "a"
    assert [hit.id for hit in rerank(cross_encoder, RANKING, "Only Faust?", depth=1).hits] == ["a", "b", "c"]


@pytest.mark.models
def test_the_model_is_in_a_runs_fingerprint(cross_encoder):
    station = CrossEncoder(str(cross_encoder))
    assert station.identity() == {"cross-encoder": load_pair_scorer(str(cross_encoder)).identity}


@pytest.fixture
def by_letters(monkeypatch):
    """Scores are the letters of a passage: Again. 6 and Faust, And 3, Only Goethe. 12."""

    class Letters:
        identity = "letters"

        def score(self, pairs):
            return np.array([len(passage) for _, passage in pairs], np.float32)

    monkeypatch.setattr(module, "load_pair_scorer", lambda *_: Letters())


@pytest.fixture
def collection(tmp_path):
    url = str(tmp_path / "c")
    with create_store(url, "en") as store:
        store.add(PASSAGES.values())
    return url


def ids(ranking):
    return [hit.id for hit in ranking.hits]


@pytest.mark.usefixtures("by_letters")
def test_a_collection_gives_the_texts(collection):
    backwards = Ranking.of([Hit(id, float(place)) for place, id in enumerate(PASSAGES)])
    assert ids(rerank("m", backwards, "Who?")) == ["c", "b", "a"]
    CrossEncoder("m", collection).warm_up()
    found = rerank("m", backwards, "Who?", collection=collection, max_texts=1)
    assert [(hit.id, hit.score) for hit in found.hits] == [("a", 18.0), ("b", 12.0), ("c", 9.0)]
    assert [hit.passage for hit in found.hits] == [PASSAGES["a"], None, None]


@pytest.mark.usefixtures("by_letters")
def test_depth_and_top_k(collection):
    backwards = Ranking.of([Hit(id, float(place)) for place, id in enumerate(PASSAGES)])
    found = rerank("m", backwards, "Who?", collection=collection, depth=2)
    assert ids(found) == ["b", "c", "a"] and found.hits[1].score > found.hits[2].score
    assert ids(rerank("m", backwards, "Who?", collection=collection, top_k=1)) == ["a"]
