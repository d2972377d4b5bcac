"""Indexes that others filled: Haystack's own, and one of any fields."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, RunError, StoreDamaged, WorkError
from convqa.stores import create_store, delete_store, find_stores, open_store
from convqa.stores.base import Encoder, SearchParams, WritableStore
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.target import IndexTarget

pytestmark = pytest.mark.services

DEFAULT = SearchParams()
LEGACY = {"type": "BM25", "k1": 0.9, "b": 0.4}
MAPPINGS = {
    "properties": {
        "docno": {"type": "keyword"},
        "number": {"type": "integer"},
        "body": {"type": "text", "analyzer": "english", "similarity": "ours"},
        "heading": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "link": {"type": "keyword", "index": False},
        "about": {"properties": {"year": {"type": "integer"}, "kind": {"type": "keyword"}, "old": {"type": "boolean"}}},
        "notes": {"type": "text"},
    }
}
FIELDS = """\
url: {url}
fields: {{text: body, id: docno, title: heading, url: link, meta: [about.year, about.kind, about.old, heading, notes]}}
"""
DOCUMENTS = [
    {
        "docno": "d1",
        "number": 1,
        "body": "The river Thames flows through London.",
        "heading": "Thames",
        "link": "http://1",
    },
    {"docno": "d2", "number": 2, "body": "Rome was not built in a day.", "heading": "Rome"},
    {"docno": "d3", "number": 3, "body": "Bridges of London cross the river.", "link": "http://3"},
    {"docno": "d4", "number": 4, "body": ["Bridges of London cross", "the river."], "heading": "a walk"},
]
ABOUT = [
    {"year": 2001, "kind": "river"},
    {"year": 2002, "kind": "city", "old": True},
    {"year": 2001, "kind": "bridge", "old": False},
    {},
]


@pytest.fixture
def index(index_url):
    """An index of other fields, and its client."""
    target = IndexTarget.parse(index_url)
    known = client(target)
    known.indices.create(index=target.index, settings={"similarity": {"ours": LEGACY}}, mappings=MAPPINGS)
    for number, (document, about) in enumerate(zip(DOCUMENTS, ABOUT, strict=True)):
        known.index(index=target.index, id=f"key{number}", document={**document, "about": about})
    known.indices.refresh(index=target.index)
    yield target, known
    known.options(ignore_status=404).indices.delete(index=target.index)


@pytest.fixture
def store(index, tmp_path):
    (tmp_path / "ours.yaml").write_text(FIELDS.format(url=index[0].url))
    opened = open_store(str(tmp_path / "ours.yaml"))
    yield opened
    opened.close()


def ids(store, text, params=DEFAULT, k=10, **query):
    return [hit.id for hit in store.search([Query(text, **query)], k, params)[0].hits]


def test_it_says_what_it_is(store):
    info = store.info()
    assert (info.engine, info.count, info.language, info.analyzer) == ("elasticsearch", 4, "en", "english")
    assert (info.k1, info.b, info.fields) == (0.9, 0.4, ("heading", "body"))
    assert info.capabilities == {"stopwords", "filter", "title_weight"}
    assert not isinstance(store, WritableStore)


def test_passages_come_from_the_named_fields(store):
    first = Passage(
        "d1",
        "The river Thames flows through London.",
        "Thames",
        "http://1",
        {"about.year": 2001, "about.kind": "river", "heading": "Thames"},
    )
    last = Passage("d4", "Bridges of London cross\nthe river.", "a walk", "", {"heading": "a walk"})
    assert store.fetch(["d1", "nobody", "d4", "", "\ud800"]) == [first, None, last, None, None]
    assert [passage.id for passage in store.scan()] == ["d1", "d2", "d3", "d4"]
    hits = store.search([Query("Thames")], 10, DEFAULT, texts=1)[0].hits
    assert [hit.passage for hit in hits] == [first]


def bm25(tf, count, df, length, average, k1=0.9, b=0.4):
    return math.log(1 + (count - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / average))


def test_scores_are_the_indexs_own_bm25_without_its_factor(store):
    # The analyzer drops "was", "not", "in", "a" and "the", "of": 5, 3, 4 and 4 tokens.
    body = bm25(1, 4, 1, 3, 4)
    title = bm25(1, 3, 1, 1, 4 / 3, k1=1.2, b=0.75)
    for query, expected in ((Query("Rome"), 1.0), (Query("", (("Rome", 0.3),)), 0.3), (Query("Rome rome"), 2.0)):
        weightless = store.search([query], 10, SearchParams(title_weight=0.0))[0].hits
        assert [(hit.id, hit.score) for hit in weightless] == [("d2", pytest.approx(expected * body, rel=1e-5))]
    whole = store.search([Query("Rome")], 10, DEFAULT)[0].hits[0].score
    double = store.search([Query("Rome")], 10, SearchParams(title_weight=2.0))[0].hits[0].score
    assert (whole, double) == (pytest.approx(body + title, rel=1e-5), pytest.approx(body + 2 * title, rel=1e-5))


def test_ties_go_to_the_highest_id_and_nothing_is_found_for_nothing(store):
    assert ids(store, "bridges") == ["d4", "d3"]
    assert ids(store, "bridges", k=1) == ["d4"]
    for text in ("", "   ", "zzz", "\x00", "\ud800", "?!", "the of"):
        assert ids(store, text, SearchParams(title_weight=0.0)) == []


def test_long_questions_are_cut_with_a_warning(store, caplog):
    assert ids(store, "London " + " ".join(f"w{n}" for n in range(3000)))[:1]
    assert [record.getMessage() for record in caplog.records] == [
        "a query has 3001 distinct words: the heaviest 512 are searched"
    ]


def test_long_stop_words_are_dropped_before_the_server(store):
    assert ids(store, "through") == ["d1"]
    assert ids(store, "Through", SearchParams(stopwords="long")) == []
    assert ids(store, "through Rome", SearchParams(stopwords="long")) == ["d2"]


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ({"about.year": (2001,)}, ["d1", "d3"]),
        ({"about.year": (2001.0, 7)}, ["d1", "d3"]),
        ({"about.year": ("2001",)}, []),
        ({"about.year": (True,)}, []),
        ({"about.old": (False,)}, ["d3"]),
        ({"about.old": (0,)}, []),
        ({"about.year": (2001,), "about.kind": ("river", "city")}, ["d1"]),
        ({"heading": ("a walk",)}, ["d4"]),
        ({"about.kind": ()}, []),
    ],
)
def test_filters_ask_fields_for_their_values(store, accepted, expected):
    assert sorted(ids(store, "London river", SearchParams(filter=accepted))) == expected


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            SearchParams(k1=0.82, b=0.68),
            r"made with k1=0\.9 and b=0\.4 .*--set retriever\.k1=null --set retriever\.b=null",
        ),
        (SearchParams(b=0.68), r"cannot search with b=0\.68"),
        (SearchParams(filter={"notes": ("x",)}), r"'notes' \(text\) is not indexed for exact values"),
        (SearchParams(filter={"about.yaer": (1,)}), "no meta field 'about.yaer'. Did you mean 'about.year'"),
    ],
)
def test_what_the_index_cannot_is_refused(store, params, message):
    for refused in (lambda: store.check(params), lambda: store.search([], 1, params)):
        with pytest.raises(InputError, match=message):
            refused()
    store.check(SearchParams(k1=0.9, b=0.4))


def test_vectors_are_refused(store):
    with pytest.raises(InputError, match="has no vectors"):
        store.search_vectors([[1.0]], 1, Encoder("x", "y", 1))


def test_weights_that_elasticsearch_does_not_take_are_refused(store):
    for weight in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="weights"):
            store.search([Query("Rome", (("London", weight),))], 1, DEFAULT)


def test_the_checksum_follows_the_index(store, index, tmp_path):
    target, known = index
    before = store.info().checksum
    assert open_store(str(tmp_path / "ours.yaml")) is store
    known.index(index=target.index, id="key9", document={"docno": "d9", "body": "Paris"}, refresh=True)
    after = open_store(str(tmp_path / "ours.yaml"))
    assert (after.info().count, len(after.info().checksum)) == (5, 32)
    assert after.info().checksum != before
    assert ids(after, "Paris") == ["d9"]


def test_numbers_may_be_ids(index, tmp_path):
    (tmp_path / "n.yaml").write_text(f"url: {index[0].url}\nfields: {{text: body, id: number}}\n")
    opened = open_store(str(tmp_path / "n.yaml"))
    assert ids(opened, "Rome") == ["2"]
    odd = ["x", "1_00", " 1", "nan", "1e3", "١", "9" * 5000]
    assert [found and found.id for found in opened.fetch(["2", "7", *odd])] == ["2", None, *[None] * len(odd)]


def test_two_documents_with_one_id_are_refused(store, index):
    target, known = index
    known.index(index=target.index, id="again", document={**DOCUMENTS[0]}, refresh=True)
    with pytest.raises(InputError, match="several documents have the same id, 'd1'"):
        store.search([Query("Thames")], 5, SearchParams())


def test_a_document_without_the_field_of_ids_is_named(store, index):
    target, known = index
    known.index(index=target.index, id="odd", document={"body": "Paris"}, refresh=True)
    with pytest.raises(StoreDamaged, match="document 'odd' has no value in the field 'docno'"):
        ids(store, "Paris")
    with pytest.raises(StoreDamaged, match="document 'odd'"):
        list(store.scan())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("{text: bodi}", "no field 'bodi'.*Did you mean 'body'"),
        ("{text: docno}", "'docno' has the type keyword; expected text"),
        ("{text: body, id: notes}", "'notes' .text. is not indexed"),
        ("{text: body, meta: [color]}", "no field 'color'"),
    ],
)
def test_fields_that_the_index_lacks_are_refused(index, tmp_path, fields, message):
    (tmp_path / "f.yaml").write_text(f"url: {index[0].url}\nfields: {fields}\n")
    with pytest.raises(InputError, match=message):
        open_store(str(tmp_path / "f.yaml"))


def test_an_index_without_told_fields_and_other_mistakes(index, elasticsearch):
    target, known = index
    with pytest.raises(InputError, match=r"which of its fields are a passage's\?.*about.year"):
        open_store(target.url)
    for act in (lambda: create_store(target.url, "en", replace=True).__enter__(), lambda: delete_store(target.url)):
        with pytest.raises(InputError):
            act()
    assert known.indices.exists(index=target.index)
    assert target.url not in find_stores(elasticsearch)


def test_a_scoring_that_is_no_bm25_takes_no_k1(index_url, tmp_path):
    target = IndexTarget.parse(index_url)
    client(target).indices.create(
        index=target.index, mappings={"properties": {"body": {"type": "text", "similarity": "boolean"}}}
    )
    (tmp_path / "b.yaml").write_text(f"url: {target.url}\nfields: {{text: body}}\nlanguage: de\n")
    opened = open_store(str(tmp_path / "b.yaml"))
    assert (opened.info().k1, opened.info().language) == (None, "de")
    with pytest.raises(InputError, match=r"is not scored by BM25.*retriever\.k1=null"):
        opened.check(SearchParams(k1=0.82))
    client(target).indices.delete(index=target.index)
    with pytest.raises(RunError, match="is gone"):
        opened.search([Query("x")], 1, DEFAULT)
    opened.close()
    with pytest.raises(WorkError, match="closed"):
        opened.search([Query("x")], 1, DEFAULT)


@pytest.mark.parametrize("shards", [1, 3])
def test_what_haystack_wrote_is_recognized(index_url, monkeypatch, shards):
    document_stores = pytest.importorskip(
        "haystack_integrations.document_stores.elasticsearch", reason="needs elasticsearch-haystack"
    )
    from haystack import Document

    target = IndexTarget.parse(index_url)
    if shards > 1:
        client(target).indices.create(index=target.index, settings={"number_of_shards": shards})
        client(target).indices.put_mapping(index=target.index, properties={"content": {"type": "text"}})
    theirs = document_stores.ElasticsearchDocumentStore(hosts=target.http, index=target.index)
    theirs.write_documents(
        [
            Document(
                id="h1",
                content="The river Thames",
                meta={"year": 2001, "kind": "river", "tags": ["a"], "many": ["b", "c"]},
            ),
            Document(id="h2", content="Rome and its river", meta={"kind": "city", "old": True}, embedding=[1.0, 2.0]),
            Document(id="h3", content="Rome"),
        ]
    )
    opened = open_store(target.url)
    assert (opened.info().count, opened.info().k1, opened.info().b) == (3, 1.2, 0.75)
    assert opened.fetch(["h1", "h2"]) == [
        Passage("h1", "The river Thames", meta={"year": 2001, "kind": "river", "tags": "a"}),
        Passage("h2", "Rome and its river", meta={"kind": "city", "old": True}),
    ]
    found = opened.search([Query("Rome river")], 10, DEFAULT)[0].hits
    assert [hit.id for hit in found] == ["h2", "h3", "h1"]
    assert found[2].score == pytest.approx(bm25(1, 3, 2, 3, 8 / 3, k1=1.2, b=0.75), rel=1e-5)
    assert len(list(opened.scan())) == 3
    with pytest.raises(InputError, match="k1=null"):
        opened.check(replace(DEFAULT, k1=0.82, b=0.68))
    theirs.client.close()
    client(target).indices.delete(index=target.index)
