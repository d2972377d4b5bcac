"""What every store promises: ours, and those that ``--convqa-member SCHEME:`` names."""

from __future__ import annotations

import math
import threading
import uuid
from contextlib import contextmanager

import numpy as np
import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError
from convqa.stores import create_store, delete_store, exists, open_store
from convqa.stores.base import Encoder, SearchParams, Store, VectorOptions, WritableStore
from convqa.text.analysis import analyzer

WEIRD_ID = "http://a.b/c?d=%20,é:/" + "x" * 1378
PASSAGES = [
    Passage("p1", "The river Thames flows through London.", "Thames", "http://x/1", {"year": 2001, "kind": "river"}),
    Passage("p2", "Rome was not built in a day.", "Rome", "", {"year": 2002, "kind": "city", "old": True}),
    Passage("p3", "Bridges of London cross the river.", "", "", {"year": 2001, "kind": "bridge", "old": False}),
    Passage("p4", "Bridges of London cross the river.", "", "", {"year": 2003.0, "kind": "bridge"}),
    Passage(WEIRD_ID, "Ein Käse 😀 von weit her: 東京 \x00 und zurück.", "Käse", "", {"kind": "cheese"}),
    Passage("stop", "to be or not to be", "The"),
]
DEFAULT = SearchParams()


SERVICES = {"elasticsearch", "anserini"}
READ_ONLY = {"anserini"}
"""Engines whose indexes are made elsewhere, here from the same passages: they keep the promises of reading."""


def pytest_generate_tests(metafunc):
    """Every engine that has the promise: ours, and those of ``--convqa-member``."""
    outside = [name for name in metafunc.config.outside if isinstance(name, str)]
    for fixture, read_only in (("url", []), ("readable", READ_ONLY)):
        if fixture in metafunc.fixturenames:
            engines = [
                pytest.param(name, marks=pytest.mark.services if name in SERVICES else (), id=name)
                for name in ["embedded", "elasticsearch", *read_only, *outside]
            ]
            metafunc.parametrize(fixture, engines, indirect=True)


@contextmanager
def place(engine, folder, request):
    """The URL of a place for a collection of an engine."""
    if engine == "elasticsearch":
        engine = request.getfixturevalue("elasticsearch")
    if "//" not in engine:
        yield f"{'' if engine == 'embedded' else engine}{folder / 'collection'}"
        return
    url = f"{engine}/t-{uuid.uuid4().hex[:12]}"
    yield url
    if exists(url):
        delete_store(url)


@pytest.fixture
def url(request, tmp_path):
    with place(request.param, tmp_path, request) as made:
        yield made


@pytest.fixture
def store(url):
    with create_store(url, "en") as made:
        made.add(PASSAGES)
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def readable(request, tmp_path):
    """A store of the passages that is only read."""
    if request.param in READ_ONLY:
        records = [{**passage.to_json(), "contents": passage.text} for passage in PASSAGES]
        index = request.getfixturevalue("anserini_index")(records, folder=tmp_path / "index")
        opened = open_store(f"{request.param}:{index}")
        yield opened
        opened.close()
        return
    with place(request.param, tmp_path, request) as url:
        with create_store(url, "en") as made:
            made.add(PASSAGES)
        opened = open_store(url)
        yield opened
        opened.close()


HAND = [
    Passage("a", "the Roman wall"),
    Passage("b", "walls and bridges and walls of gates"),
    Passage("c", "tower " + " ".join(f"w{n}" for n in range(46))),
    Passage("d", "towers " * 104),
]
"""Of 2, 4, 47 and 104 tokens: 157 in all."""


def bm25(tf, count, df, length, average=157 / 4, k1=0.82, b=0.68):
    """One token's part of a score."""
    return math.log(1 + (count - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / average))


def scores(store, query, params=DEFAULT):
    return {hit.id: hit.score for hit in store.search([query], 10, params)[0].hits}


def ids(store, text, k=10, params=DEFAULT, **query):
    return [hit.id for hit in store.search([Query(text, **query)], k, params)[0].hits]


def test_is_a_store_and_says_what_it_holds(store):
    info = store.info()
    assert isinstance(store, Store)
    assert (info.count, info.language, info.analyzer) == (6, "en", "convqa-en-2")
    assert len(info.checksum) == 32
    assert "write" not in info.capabilities or isinstance(store, WritableStore)


def test_rankings_are_by_score_then_id_descending_with_float32_scores(store):
    hits = store.search([Query("bridges of London")], 10, DEFAULT)[0].hits
    assert [hit.id for hit in hits] == ["p4", "p3", "p1"]
    assert hits[0].score == hits[1].score > hits[2].score > 0


def test_scores_are_lucenes_bm25_computed_by_hand(url):
    with create_store(url, "en") as made:
        made.add(HAND)
    store = open_store(url)
    assert scores(store, Query("roman walls")) == {
        "a": pytest.approx(bm25(1, 4, 1, 2) + bm25(1, 4, 2, 2), rel=1e-6),
        "b": pytest.approx(bm25(2, 4, 2, 4), rel=1e-6),
    }
    # In Lucene's byte a length of 47 tokens is 46, and 104 is itself.
    assert scores(store, Query("", (("towers", 0.3),))) == {
        "c": pytest.approx(0.3 * bm25(1, 4, 2, 46), rel=1e-6),
        "d": pytest.approx(0.3 * bm25(104, 4, 2, 104), rel=1e-6),
    }
    assert scores(store, Query("tower tower")) == pytest.approx(
        {"c": 2 * bm25(1, 4, 2, 46), "d": 2 * bm25(104, 4, 2, 104)}, rel=1e-6
    )


def test_ties_at_the_cut_go_to_the_highest_id(store):
    assert ids(store, "bridges", k=1) == ["p4"]


def test_passages_are_attached_to_the_first_hits_only(readable):
    hits = readable.search([Query("London river")], 10, DEFAULT, texts=1)[0].hits
    assert hits[0].passage is not None
    assert hits[0].passage.id == hits[0].id
    assert [hit.passage for hit in hits[1:]] == [None, None]


def test_queries_are_answered_in_order_and_each_by_itself(readable):
    both = readable.search([Query("Rome"), Query("zzz"), Query("Thames")], 10, DEFAULT)
    assert [[hit.id for hit in ranking.hits] for ranking in both] == [["p2"], [], ["p1"]]


def test_a_query_without_known_words_finds_nothing(readable):
    for text in ("", "   ", "the of a", "zzzz", "\x00", "\ud800", "?!"):
        assert ids(readable, text) == []


def test_a_question_of_100_000_characters_is_searched(store, caplog):
    assert ids(store, "London " + " ".join(f"w{n}" for n in range(18_000)))[:1] == ["p4"]
    assert [record.getMessage() for record in caplog.records] == [
        "a query has 18001 distinct tokens: the heaviest 1024 are searched"
    ]


def test_history_terms_count_with_their_weight(store):
    light = store.search([Query("day", (("London", 0.1),))], 10, DEFAULT)[0]
    heavy = store.search([Query("day", (("London", 9.0),))], 10, DEFAULT)[0]
    assert light.hits[0].id == "p2"
    assert heavy.hits[0].id in {"p3", "p4", "p1"}
    once, twice = (store.search([Query(text)], 1, DEFAULT)[0].hits[0].score for text in ("Rome", "Rome Rome"))
    assert twice == pytest.approx(2 * once)


def test_ids_and_texts_of_any_kind_come_back_as_they_were(readable):
    assert ids(readable, "Käse") == [WEIRD_ID]
    assert ids(readable, "京") == [WEIRD_ID]
    assert readable.fetch([WEIRD_ID, "nobody", "p1", "\ud800"]) == [PASSAGES[4], None, PASSAGES[0], None]
    assert sorted(readable.scan(), key=lambda passage: passage.id) == sorted(PASSAGES, key=lambda passage: passage.id)


def test_long_stop_words_leave_queries_only(readable):
    assert ids(readable, "through") == ["p1"]
    assert ids(readable, "through", params=SearchParams(stopwords="long")) == []


def test_filters_ask_meta_fields_for_one_of_their_values(store):
    if "filter" not in store.info().capabilities:
        pytest.skip("this engine does not filter")
    for accepted, expected in (
        ({"year": (2001,)}, ["p1", "p3"]),
        ({"year": (2001.0, 2003)}, ["p1", "p3", "p4"]),
        ({"year": (2001,), "kind": ("river", "city")}, ["p1"]),
        ({"old": (False,)}, ["p3"]),
        ({"old": (0,)}, []),
        ({"year": ("2001",)}, []),
        ({"nothing": (1,)}, []),
        ({"year": ()}, []),
        ({}, ["p1", "p3", "p4"]),
    ):
        assert sorted(ids(store, "London river", params=SearchParams(filter=accepted))) == expected, accepted


def test_filters_do_not_change_scores(store):
    free = {hit.id: hit.score for hit in store.search([Query("London river")], 10, DEFAULT)[0].hits}
    chosen = store.search([Query("London river")], 10, SearchParams(filter={"kind": ("river",)}))[0].hits
    assert [(hit.id, hit.score) for hit in chosen] == [("p1", free["p1"])]


def test_title_weight_scores_titles_by_themselves(store, url):
    if "title_weight" not in store.info().capabilities:
        with pytest.raises(InputError, match="title_weight"):
            ids(store, "Thames", params=SearchParams(title_weight=1.0))
        return
    with create_store(str(url), "en", replace=True) as made:
        made.add(
            [Passage("a", "Rome and walls", "Rome"), Passage("b", "walls"), Passage("c", "gates here", "of Rome Rome")]
        )
    weighted = open_store(url)
    # Texts have 2, 1 and 2 tokens; titles 1, none and 2, so that only two passages count for them.
    text = bm25(1, 3, 1, 2, average=5 / 3)
    titles = bm25(1, 2, 2, 1, average=3 / 2), bm25(2, 2, 2, 2, average=3 / 2)
    for weight in (0.5, 2.0):
        expected = {"a": text + weight * titles[0], "c": weight * titles[1]}
        assert scores(weighted, Query("Rome"), SearchParams(title_weight=weight)) == pytest.approx(expected, rel=1e-6)
    assert scores(weighted, Query("Rome"), SearchParams(title_weight=0.0)) == pytest.approx({"a": text}, rel=1e-6)
    whole = {"a": bm25(2, 3, 2, 3, average=8 / 3), "c": bm25(2, 3, 2, 4, average=8 / 3)}
    assert scores(weighted, Query("Rome")) == pytest.approx(whole, rel=1e-6)


def test_what_an_engine_cannot_do_is_refused_by_name(store):
    for name, params in {
        "title_weight": SearchParams(title_weight=1.0),
        "k1": SearchParams(k1=2.0),
        "b": SearchParams(b=0.1),
    }.items():
        if name not in store.info().capabilities:
            for refused in (
                lambda params=params: store.check(params),
                lambda params=params: ids(store, "", params=params),
            ):
                with pytest.raises(InputError, match=name):
                    refused()
        else:
            store.check(params)


def test_parameters_that_the_index_has_are_never_refused(readable):
    info = readable.info()
    readable.check(SearchParams())
    readable.check(SearchParams(k1=info.k1, b=info.b))


def test_a_closed_store_says_so_and_the_url_opens_anew(store, url):
    assert not store.closed
    store.close()
    assert store.closed
    store.close()
    assert ids(open_store(url), "Rome") == ["p2"]


def test_ties_that_fill_all_candidates_go_to_the_highest_ids_in_any_order(url):
    passages = [Passage(f"p{number:04}", "equal passages about Rome") for number in range(1000)]
    for ordered in (passages, passages[::-1]):
        with create_store(url, "en", replace=True) as made:
            made.add(ordered)
        assert ids(open_store(url), "rome passages", k=3) == ["p0999", "p0998", "p0997"]


def test_threads_see_what_one_thread_sees(readable):
    queries = [Query(text) for text in ("London", "Rome river", "bridges day")] * 10
    expected = readable.search(queries, 5, DEFAULT)
    found = []
    threads = [threading.Thread(target=lambda: found.append(readable.search(queries, 5, DEFAULT))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_nothing_is_visible_before_commit(store, url):
    store.add([Passage("p9", "Paris and its river")])
    assert ids(store, "Paris") == []
    store.commit()
    assert ids(open_store(url), "Paris") == ["p9"]
    assert open_store(url).info().count == 7


def test_deleted_passages_are_gone_and_no_longer_counted(store, url):
    before = store.info()
    store.add([Passage("p9", "London once more")])
    store.commit()
    assert store.info().checksum != before.checksum
    store.delete(["p9"])
    store.commit()
    assert store.info() == before
    assert store.fetch(["p9"]) == [None]
    assert ids(store, "once more") == []
    scores = [hit.score for hit in store.search([Query("London")], 9, DEFAULT)[0].hits]
    assert scores == [hit.score for hit in open_store(url).search([Query("London")], 9, DEFAULT)[0].hits]


def test_the_checksum_does_not_depend_on_the_order(store, tmp_path, request):
    (tmp_path / "other").mkdir()
    with place(request.node.callspec.params["url"], tmp_path / "other", request) as other:
        with create_store(other, "en") as made:
            made.add(reversed(PASSAGES))
        assert open_store(other).info().checksum == store.info().checksum


def test_the_same_passage_again_is_skipped_with_one_warning(store, caplog):
    store.add([*PASSAGES[:2], Passage("p7", "new"), Passage("p7", "new")])
    store.commit()
    assert store.info().count == 7
    assert [record.getMessage() for record in caplog.records] == [
        "3 passages came again with the same id and content: kept once"
    ]


def test_the_same_id_with_other_content_is_refused_and_nothing_of_the_add_stays(store):
    before = store.info()
    with pytest.raises(InputError, match=r"'p1'.*The river Thames.*Another text"):
        store.add([Passage("p8", "fine"), Passage("p1", "Another text")])
    store.commit()
    assert store.info() == before


def test_a_deleted_id_may_come_again(store):
    store.delete(["p1"])
    store.add([Passage("p1", "Another text about Vienna")])
    store.commit()
    assert ids(store, "Vienna") == ["p1"]
    assert ids(store, "Thames") == []
    assert store.info().count == 6


def test_an_existing_collection_is_kept_unless_it_is_to_be_replaced(store, url):
    with pytest.raises(InputError, match=r"exists.*--replace"), create_store(url, "en"):
        pass
    with create_store(url, "de", replace=True) as made:
        made.add([Passage("d1", "Die Häuser der Stadt")])
    assert open_store(url).info().language == "de"
    assert ids(open_store(url), "Haus") == ["d1"]


def test_a_build_that_fails_leaves_nothing(url, tmp_path):
    def passages():
        yield PASSAGES[0]
        raise RuntimeError("source broke")

    with pytest.raises(RuntimeError, match="source broke"), create_store(url, "en") as made:
        made.add(passages())
    with pytest.raises(InputError):
        open_store(url)
    assert not exists(url)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_collection_can_be_searched(url):
    with create_store(url, "en"):
        pass
    assert ids(open_store(url), "London") == []
    assert open_store(url).info().count == 0
    assert list(open_store(url).scan()) == []


# Vectors: what every store with that capability promises.

ENCODER = Encoder("by hand", "c" * 64, 4)
VECTORS = {
    "p1": (1.0, 0.0, 0.0, 0.0),
    "p2": (0.6, 0.8, 0.0, 0.0),
    "p3": (0.0, 1.0, 0.0, 0.0),
    "p4": (0.0, 1.0, 0.0, 0.0),
    WEIRD_ID: (-2.0, 0.0, 0.0, 0.5),
}
"""By inner product; one is longer than 1, and "stop" has none."""
EXACT = VectorOptions(index="exact")
X, Y = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)


JAPANESE = [
    Passage("tower", "東京タワーは１９５８年に完成した。", "東京タワー"),
    Passage("office", "東京特許許可局へ行なった調査の結果である。", "特許"),
    Passage("odd", "犬と👍。" + "、" * 60_000 + "猫"),
]


@pytest.fixture
def japanese(url):
    with create_store(url, "ja") as made:
        made.add(JAPANESE)
    opened = open_store(url)
    yield opened
    opened.close()


def test_japanese_questions_find_their_passage(japanese):
    assert (japanese.info().language, japanese.info().analyzer) == ("ja", analyzer("ja").name)
    asked = {
        "タワーが完成したのは1958年ですか？": "tower",
        "調査を行う特許局はどこ": "office",
        "ﾀﾜｰ": "tower",
        "猫\ud83d": "odd",
    }
    for text, wanted in asked.items():
        assert ids(japanese, text)[0] == wanted
    assert ids(japanese, "はがのですか") == []
    assert [passage.text for passage in japanese.fetch(["tower", "odd"])] == [JAPANESE[0].text, JAPANESE[2].text]


def matrix(*rows):
    return np.array(rows, np.float32)


@pytest.fixture
def semantic(url):
    """A collection with vectors."""
    with create_store(url, "en") as made:
        if "vectors" not in made.info().capabilities:
            pytest.skip("this engine keeps no vectors")
        made.add(PASSAGES)
        made.add_vectors(list(VECTORS), matrix(*VECTORS.values()), ENCODER, EXACT)
    opened = open_store(url)
    yield opened
    opened.close()


def near(store, *queries, k=10, texts=20, accepted=None):
    return [
        [(hit.id, pytest.approx(hit.score, rel=1e-5, abs=1e-6)) for hit in ranking.hits]
        for ranking in store.search_vectors(matrix(*queries), k, ENCODER, texts, accepted)
    ]


def test_vectors_are_told(semantic):
    info = semantic.info()
    assert (info.encoder, info.vectors, info.count) == (ENCODER, 5, 6)
    assert info.vector_options == EXACT


def test_vectors_rank_by_inner_product_and_passages_without_one_are_no_hits(semantic):
    assert near(semantic, X, Y, (-1.0, -1.0, 0.0, 2.0)) == [
        [("p1", 1.0), ("p2", 0.6), ("p4", 0.0), ("p3", 0.0), (WEIRD_ID, -2.0)],
        [("p4", 1.0), ("p3", 1.0), ("p2", 0.8), ("p1", 0.0), (WEIRD_ID, 0.0)],
        [(WEIRD_ID, 3.0), ("p4", -1.0), ("p3", -1.0), ("p1", -1.0), ("p2", -1.4)],
    ]


def test_ties_of_vectors_at_the_cut_go_to_the_highest_id(semantic):
    assert near(semantic, Y, k=1) == [[("p4", 1.0)]]
    assert semantic.search_vectors(matrix(X), 0, ENCODER)[0].hits == ()
    assert semantic.search_vectors(np.empty((0, 4), np.float32), 5, ENCODER) == []


def test_the_nearest_of_what_a_filter_lets_through_are_found_with_their_own_scores(semantic):
    for accepted, expected in (
        ({"kind": ("bridge",)}, [("p4", 0.0), ("p3", 0.0)]),
        ({"year": (2001.0, 2002)}, [("p1", 1.0), ("p2", 0.6), ("p3", 0.0)]),
        ({"year": (2001, 2003), "kind": ("bridge", "cheese")}, [("p4", 0.0), ("p3", 0.0)]),
        ({"old": (True,)}, [("p2", 0.6)]),
        ({"old": (1,)}, []),
        ({"nothing": (1,)}, []),
        ({"kind": ()}, []),
        ({}, [("p1", 1.0), ("p2", 0.6), ("p4", 0.0), ("p3", 0.0), (WEIRD_ID, -2.0)]),
    ):
        assert near(semantic, X, X, accepted=accepted) == [expected] * 2, accepted
        assert near(semantic, X, k=1, accepted=accepted) == [expected[:1]], accepted


def test_filters_know_the_vectors_that_came_later_and_those_that_went(semantic, url):
    bridges = {"kind": ("bridge",)}
    assert len(near(semantic, Y, accepted=bridges)[0]) == 2
    semantic.add([Passage("p9", "A bridge", meta={"kind": "bridge", "a.b": 1})])
    semantic.add_vectors(["p9", "p3"], matrix(X, (0.0, 3.0, 0.0, 0.0)), ENCODER)
    semantic.delete(["p4"])
    semantic.commit()
    for store in (semantic, open_store(url)):
        assert near(store, Y, accepted=bridges) == [[("p3", 3.0), ("p9", 0.0)]]
        assert near(store, Y, accepted={"a.b": (1,)}) == [[("p9", 0.0)]]


def test_passages_are_attached_to_the_first_neighbors_only(semantic):
    hits = semantic.search_vectors(matrix(Y), 10, ENCODER, texts=2)[0].hits
    assert [hit.passage for hit in hits] == [PASSAGES[3], PASSAGES[2], None, None, None]


def test_a_querys_neighbors_do_not_depend_on_its_batch(url, semantic):
    chance = np.random.default_rng(1)
    passages = [Passage(f"v{n:03}", f"vector {n}") for n in range(300)]
    encoder, made, asked = Encoder("wide", "", 96), *(chance.standard_normal((n, 96), np.float32) for n in (300, 70))
    with create_store(url, "en", replace=True) as store:
        store.add(passages)
        store.add_vectors([passage.id for passage in passages], made, encoder, EXACT)
    opened = open_store(url)
    together = opened.search_vectors(asked, 20, encoder, 0)
    scores = asked.astype(np.float64) @ made.astype(np.float64).T
    for row, ranking in zip(scores, together, strict=True):
        expected = row.argsort()[::-1][:20]
        assert [hit.id for hit in ranking.hits] == [passages[n].id for n in expected]
        assert [hit.score for hit in ranking.hits] == pytest.approx(row[expected].tolist(), rel=1e-5)
    for size in (1, 7, 64):
        parts = [opened.search_vectors(asked[n : n + size], 20, encoder, 0) for n in range(0, 70, size)]
        for alone, beside in zip([ranking for part in parts for ranking in part], together, strict=True):
            assert [hit.id for hit in alone.hits] == [hit.id for hit in beside.hits]
            assert [hit.score for hit in alone.hits] == pytest.approx([hit.score for hit in beside.hits], rel=1e-5)


def test_vectors_come_later_too_and_passages_without_one_are_told(semantic, url):
    before = semantic.info()
    assert [passage.id for passage in semantic.without_vectors()] == ["stop"]
    semantic.add([Passage("p9", "Paris")])
    semantic.add_vectors(["stop", "p9"], matrix((0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.5, 0.0)), ENCODER)
    assert len(near(semantic, X)[0]) == 5
    semantic.commit()
    opened = open_store(url)
    assert near(opened, (0.0, 0.0, 1.0, 0.0), k=2) == [[("stop", 1.0), ("p9", 0.5)]]
    assert list(opened.without_vectors()) == []
    assert (opened.info().vectors, opened.info().count) == (7, 7)
    opened.delete(["p9"])
    opened.commit()
    assert (opened.info().checksum, opened.info().vectors) == (before.checksum, 6)


def test_a_later_vector_replaces_an_earlier_one(semantic, url):
    semantic.add_vectors(["p1", "p2"], matrix(Y, Y), ENCODER, EXACT)
    semantic.add_vectors(["p2"], matrix((0.0, 3.0, 0.0, 0.0)), ENCODER)
    semantic.commit()
    assert near(open_store(url), Y, k=4) == [[("p2", 3.0), ("p4", 1.0), ("p3", 1.0), ("p1", 1.0)]]
    assert open_store(url).info().vectors == 5


def test_deleted_passages_lose_their_vectors(semantic, url):
    semantic.delete(["p4"])
    semantic.commit()
    assert [id for id, _ in near(open_store(url), Y, k=2)[0]] == ["p3", "p2"]
    semantic.add([PASSAGES[3]])
    semantic.commit()
    assert [id for id, _ in near(open_store(url), Y, k=2)[0]] == ["p3", "p2"]
    assert {passage.id for passage in open_store(url).without_vectors()} == {"p4", "stop"}
    assert open_store(url).info().vectors == 4


def test_vectors_of_another_kind_are_refused_and_nothing_stays(semantic, url):
    before = semantic.info()
    for ids, rows, encoder, options in (
        (["p1"], [X], Encoder("by hand", "d" * 64, 4), None),
        (["p1"], [(1.0, 0.0)], Encoder("by hand", "c" * 64, 2), None),
        (["p1"], [X], ENCODER, VectorOptions("int8")),
        (["p1", "nobody"], [X, Y], ENCODER, None),
        (["p1"], [X, Y], ENCODER, None),
        (["p1"], [(1.0, 0.0)], ENCODER, None),
        (["p1"], [(math.nan, 0.0, 0.0, 0.0)], ENCODER, None),
        (["p1"], [(0.0, math.inf, 0.0, 0.0)], ENCODER, None),
    ):
        with pytest.raises(InputError):
            semantic.add_vectors(ids, matrix(*rows), encoder, options)
        semantic.commit()
        assert open_store(url).info() == before
        assert near(open_store(url), X, k=1) == [[("p1", 1.0)]]


def test_queries_of_another_kind_are_refused(semantic):
    for rows, encoder in (
        ([X], Encoder("another", "d" * 64, 4)),
        ([(1.0, 0.0)], ENCODER),
        ([X, (math.nan, 0.0, 0.0, 0.0)], ENCODER),
    ):
        with pytest.raises(InputError):
            semantic.search_vectors(matrix(*rows), 5, encoder)


def test_a_collection_without_vectors_refuses_to_be_asked_for_them(store):
    assert (store.info().encoder, store.info().vectors) == (None, 0)
    with pytest.raises(InputError, match="vectors"):
        store.search_vectors(matrix(X), 5, ENCODER)


def test_vectors_are_given_back_as_they_are_kept(semantic):
    asked = [WEIRD_ID, "p2", "stop", "nobody", "p2", "\ud800"]
    found = semantic.vectors(asked)
    assert [None if row is None else (row.dtype, row.tolist()) for row in found] == [
        ("float32", [-2.0, 0.0, 0.0, 0.5]),
        ("float32", pytest.approx([0.6, 0.8, 0.0, 0.0], rel=1e-6)),
        None,
        None,
        ("float32", pytest.approx([0.6, 0.8, 0.0, 0.0], rel=1e-6)),
        None,
    ]
    assert semantic.vectors([]) == []


def test_the_vector_that_is_given_back_is_the_last_one(semantic, url):
    semantic.add_vectors(["p1"], matrix(Y), ENCODER)
    semantic.delete(["p2"])
    semantic.commit()
    first, second = open_store(url).vectors(["p1", "p2"])
    assert (first.tolist(), second) == (list(Y), None)


def test_a_collection_without_vectors_gives_none_back(store):
    if "vectors" not in store.info().capabilities:
        pytest.skip("this engine keeps no vectors")
    assert store.vectors(["p1", "nobody"]) == [None, None]


def test_vectors_do_not_change_what_words_find(semantic):
    assert ids(semantic, "bridges of London") == ["p4", "p3", "p1"]
