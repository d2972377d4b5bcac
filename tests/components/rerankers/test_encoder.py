"""The order of cosines: with the vectors of a collection, and with passages that are encoded now."""

from __future__ import annotations

import pytest

from convqa.components.rerankers.encoder import Encoder
from convqa.domain import Hit, Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.stores import create_store, open_store

PASSAGES = {
    "g": Passage("g", "Goethe wrote the play Faust.", title="Goethe"),
    "s": Passage("s", "Schiller wrote The Robbers, a drama."),
    "w": Passage("w", "Weimar is a town in Thuringia."),
    "z": Passage("z", "Zebras are striped animals of Africa."),
}
QUESTION = "Which animals have stripes?"
BARE = Ranking((Hit("g", 9.0), Hit("s", 8.0), Hit("w", 5.0), Hit("z", 1.0)))
WITH_TEXTS = Ranking(tuple(Hit(hit.id, hit.score, PASSAGES[hit.id]) for hit in BARE.hits))


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("rerank") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES.values())
    add_vectors(url, load_encoder("encoder"))
    return url


def rerank(ranking, *queries, **options):
    rewrite = Rewrite(queries[0].text, queries)
    turns = Turns((Turn(TurnId(1, 1), QUESTION),))
    (found,) = Encoder(**options).run(turns, Rewrites((rewrite,)), Rankings((ranking,)))["rankings"]
    return found


def cosines(question):
    model = load_encoder("encoder")
    texts = [f"{passage.title}\n{passage.text}".strip() for passage in PASSAGES.values()]
    found = model.encode(texts, role="passage") @ model.encode([question], role="query")[0]
    return dict(zip(PASSAGES, found.tolist(), strict=True))


def ids(ranking):
    return [hit.id for hit in ranking.hits]


def test_scores_are_cosines_with_the_vectors_of_the_collection(collection):
    found = rerank(BARE, Query(QUESTION), collection=collection, texts=1)
    assert {hit.id: hit.score for hit in found.hits} == pytest.approx(cosines(QUESTION), abs=1e-4)
    assert [hit.passage for hit in found.hits] == [PASSAGES["z"], None, None, None]


def test_without_a_collection_the_passages_are_encoded(collection):
    found = rerank(WITH_TEXTS, Query(QUESTION))
    stored = rerank(BARE, Query(QUESTION), collection=collection)
    assert ids(found) == ids(stored)
    assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in stored.hits], abs=1e-4)


def test_a_collection_without_vectors_gives_the_texts(tmp_path, collection):
    url = str(tmp_path / "c")
    with create_store(url, "en") as store:
        store.add(PASSAGES.values())
    found = rerank(BARE, Query(QUESTION), collection=url)
    assert ids(found) == ids(rerank(BARE, Query(QUESTION), collection=collection))


def test_a_passage_that_a_collection_lacks_the_vector_of_is_encoded(tmp_path, collection):
    url = str(tmp_path / "c")
    with create_store(url, "en") as store:
        store.add(list(PASSAGES.values())[:2])
    add_vectors(url, load_encoder("encoder"))
    store = open_store(url)
    store.add(list(PASSAGES.values())[2:])
    store.commit()
    found = rerank(BARE, Query(QUESTION), collection=url)
    assert ids(found) == ids(rerank(BARE, Query(QUESTION), collection=collection))
    assert [hit.score for hit in found.hits] == pytest.approx(sorted(cosines(QUESTION).values())[::-1], abs=1e-4)


def test_depth_and_top_k(collection):
    found = rerank(BARE, Query(QUESTION), collection=collection, depth=2)
    assert ids(found)[2:] == ["w", "z"] and found.hits[1].score > found.hits[2].score > found.hits[3].score
    assert ids(rerank(BARE, Query(QUESTION), collection=collection, top_k=1)) == ["z"]


def test_the_old_score_may_count_too(collection):
    found = rerank(BARE, Query(QUESTION), collection=collection, weight=0.25)
    new = cosines(QUESTION)
    low, high = min(new.values()), max(new.values())
    expected = {hit.id: 0.25 * (new[hit.id] - low) / (high - low) + 0.75 * (hit.score - 1.0) / 8.0 for hit in BARE.hits}
    assert {hit.id: hit.score for hit in found.hits} == pytest.approx(expected, abs=1e-3)


def test_hits_without_passages_stay_behind_and_without_words_all_stays():
    mixed = Ranking((Hit("g", 9.0), *WITH_TEXTS.hits[1:]))
    found = rerank(mixed, Query(QUESTION))
    assert ids(found)[0] == "z" and ids(found)[-1] == "g"
    assert rerank(WITH_TEXTS, Query("")) == WITH_TEXTS
    assert rerank(BARE, Query(QUESTION)) == BARE


def test_several_queries_count_by_their_weights(collection):
    queries = Query(QUESTION, weight=0.1), Query("a town in Thuringia", weight=3.0)
    assert ids(rerank(BARE, *queries, collection=collection))[0] == "w"
