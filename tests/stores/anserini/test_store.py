"""An Anserini index, made here by Anserini itself: rankings are SimpleSearcher's, and the folder is only read."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, WorkError
from convqa.stores import open_store
from convqa.stores.anserini.java import java_class
from convqa.stores.anserini.search import adjusted
from convqa.stores.base import Encoder, SearchParams, Store, WritableStore

ROOT = Path(__file__).resolve().parents[3]
LUCENE8 = ROOT / "tests" / "fixtures" / "lucene8"
WEIRD = "http://web.archive.org/web/2019id_/http://a.b/c?d=%20,é:/_p1" + "x" * 1300
RECORDS = [
    {"id": "p1", "contents": "The river Thames flows through London.", "title": "Thames", "url": "http://x/1"},
    {"id": "p2", "contents": "Rome was not built in a day.", "meta": {"year": 2002, "old": True}},
    {"id": "p3", "contents": "Bridges of London cross the river."},
    {"id": "p4", "contents": "Bridges of London cross the river."},
    {"id": WEIRD, "contents": "Ein Käse 😀 von weit her: 東京 \x00 und zurück."},
    {"id": "stop", "contents": "to be or not to be"},
]
DEFAULT = SearchParams()


@pytest.fixture(scope="module")
def folder(anserini_index):
    return anserini_index(RECORDS)


@pytest.fixture
def store(folder):
    opened = open_store(f"anserini:{folder}")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def example_records():
    with gzip.open(ROOT / "examples" / "qrecc-trec" / "passages.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [{"id": record["id"], "contents": record["text"]} for record in map(json.loads, lines)]


@pytest.fixture(scope="module")
def real(anserini_index, example_records):
    return anserini_index(example_records)


@pytest.fixture(scope="module")
def questions():
    turns = json.loads((ROOT / "examples" / "qrecc-trec" / "questions.json").read_text(encoding="utf-8"))
    return [turn["Question"] for turn in turns[:40]]


def simple_searcher(folder, queries, k, k1=0.82, b=0.68):
    """What Anserini's own class answers."""
    searcher = java_class("io.anserini.search.SimpleSearcher")(str(folder))
    searcher.set_bm25(k1, b)
    return [[(str(hit.docid), hit.score) for hit in searcher.search(query, k)] for query in queries]


def ranked(store, queries, k, params=DEFAULT):
    return [[(hit.id, hit.score) for hit in ranking.hits] for ranking in store.search(queries, k, params)]


def ids(store, text, k=10, params=DEFAULT, terms=()):
    return [hit.id for hit in store.search([Query(text, terms)], k, params)[0].hits]


def test_says_what_it_is(store, folder):
    info = store.info()
    assert isinstance(store, Store) and not isinstance(store, WritableStore)
    assert (info.engine, info.count, info.language, info.fields) == ("anserini", 6, "en", ("contents",))
    assert info.capabilities == {"k1", "b", "stopwords"} and len(info.checksum) == 32
    assert open_store(str(folder)).info() == info


@pytest.mark.parametrize(("k", "k1", "b"), [(100, 0.82, 0.68), (10, 0.9, 0.4), (1, 2.0, 0.0)])
def test_rankings_are_simple_searchers(real, questions, k, k1, b):
    found = ranked(open_store(f"anserini:{real}"), [Query(text) for text in questions], k, SearchParams(k1, b))
    assert found == simple_searcher(real, questions, k, k1, b)
    assert sum(map(len, found)) > len(questions) * k * 0.5


def test_an_index_of_lucene_8_opens(anserini_index):
    store = open_store(str(LUCENE8))
    texts = ["river bridges", "Rome", "käse", "who?"]
    assert ranked(store, [Query(text) for text in texts], 10) == simple_searcher(LUCENE8, texts, 10)
    assert store.fetch(["http://example.org/thames_p0"]) == [
        Passage(
            "http://example.org/thames_p0",
            "The river Thames flows through London.",
            "Thames",
            "http://example.org/thames",
        )
    ]
    assert store.fetch(["http://example.org/käse_p0,%20é"])[0].text == "Ein Käse 😀 von weit her: 東京 und zurück."


def test_history_terms_are_weighted_clauses(store):
    assert ids(store, "day", terms=(("London", 0.1),))[0] == "p2"
    assert ids(store, "day", terms=(("London", 9.0),))[-1] == "p2"
    once = ranked(store, [Query("Rome")], 1)[0][0][1]
    assert ranked(store, [Query("", (("Rome", 0.5),))], 1)[0][0][1] == pytest.approx(once / 2, abs=1e-4)
    assert ranked(store, [Query("Rome", (("Rome", 1.0),))], 1) == ranked(store, [Query("Rome Rome")], 1)


def test_ties_are_as_anserini_makes_them():
    assert adjusted([]) == []
    assert adjusted([3.00004, 2.99996, 2.0]) == pytest.approx([3.0, 2.999999, 2.0], abs=1e-7)
    assert adjusted([50.0, 50.0]) == [50.0, 50.0]


def test_tied_passages_come_in_the_order_of_their_ids(store):
    first, second = store.search([Query("bridges")], 10, DEFAULT)[0].hits
    assert (first.id, second.id) == ("p3", "p4")
    assert 0 < first.score - second.score < 2e-6


def test_passages_come_from_the_stored_json(store):
    expected = [
        Passage(
            record["id"], record["contents"], record.get("title", ""), record.get("url", ""), record.get("meta", {})
        )
        for record in RECORDS
    ]
    assert sorted(store.scan(), key=lambda passage: passage.id) == sorted(expected, key=lambda passage: passage.id)
    assert store.fetch([WEIRD, "nobody", "p1", "\ud800", ""]) == [expected[4], None, expected[0], None, None]
    hits = store.search([Query("London river")], 10, DEFAULT, texts=1)[0].hits
    assert [hit.passage is None for hit in hits] == [False, True, True]
    assert ids(store, "Käse") == ids(store, "京") == [WEIRD]


def test_a_question_of_100_000_characters_is_searched(store, caplog):
    assert ids(store, "London " + " ".join(f"w{n}" for n in range(18_000)))[:1] == ["p3"]
    assert "a query has 18001 distinct tokens: the heaviest 1024 are searched" in caplog.messages


@pytest.mark.parametrize(
    ("params", "name"),
    [(SearchParams(title_weight=1.0), "title_weight"), (SearchParams(filter={"year": (1,)}), "filter")],
)
def test_what_it_cannot_do_is_refused(store, params, name):
    with pytest.raises(InputError, match=f"Anserini index .* cannot search with {name}"):
        store.search([Query("Rome")], 1, params)


def test_vectors_are_refused(store):
    with pytest.raises(InputError, match="has no vectors"):
        store.search_vectors([[1.0]], 1, Encoder("e", "0", 1))


def test_a_closed_store_says_so_and_the_url_opens_anew(store, folder):
    store.close()
    store.close()
    assert store.closed
    with pytest.raises(WorkError, match="is closed"):
        store.search([Query("Rome")], 1, DEFAULT)
    assert ids(open_store(f"anserini:{folder}"), "Rome") == ["p2"]


def test_a_scan_that_is_under_way_outlives_the_store(folder):
    store = open_store(f"anserini:{folder}")
    passages = store.scan()
    next(passages)
    store.close()
    assert len(list(passages)) == 5


def test_nothing_is_written_into_the_folder(folder, tmp_path):
    place = tmp_path / "index"
    shutil.copytree(folder, place)
    (place / "write.lock").unlink()
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in [place, *place.iterdir()]}
    place.chmod(0o555)
    store = open_store(f"anserini:{place}")
    store.search([Query("Rome")], 5, DEFAULT)
    list(store.scan())
    store.close()
    assert {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in [place, *place.iterdir()]} == before
    place.chmod(0o755)
