"""Indexes that others filled: Haystack's own, and one of any fields."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, RunError, WorkError
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
    assert (info.engine, info.count, info.language) == ("elasticsearch", 4, "en")
    assert (info.k1, info.b, info.fields) == (None, None, ("heading", "body"))
    assert info.capabilities == {"stopwords", "filter"}
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


def test_ties_go_to_the_highest_id_and_nothing_is_found_for_nothing(store):
    assert ids(store, "bridges") == ["d4", "d3"]
    assert ids(store, "bridges", k=1) == ["d4"]
    for text in ("", "   ", "zzz", "\x00", "\ud800", "?!"):
        assert ids(store, text) == []


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
        ({"about.old": (False,)}, ["d3"]),
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
            r"cannot search with k1=0\.82.*--set retriever\.k1=null --set retriever\.b=null",
        ),
        (SearchParams(title_weight=2.0), r"cannot search with title_weight=2\.0"),
        (SearchParams(filter={"notes": ("x",)}), r"'notes' is not indexed for exact values"),
        (SearchParams(filter={"about.yaer": (1,)}), "no meta field 'about.yaer'. Did you mean 'about.year'"),
    ],
)
def test_what_the_index_cannot_is_refused(store, params, message):
    for refused in (lambda: store.check(params), lambda: store.search([], 1, params)):
        with pytest.raises(InputError, match=message):
            refused()


def test_vectors_are_refused(store):
    with pytest.raises(InputError, match="has no vectors"):
        store.search_vectors([[1.0]], 1, Encoder("x", "y", 1))


def test_the_checksum_follows_the_index(store, index, tmp_path):
    target, known = index
    before = store.info().checksum
    assert open_store(str(tmp_path / "ours.yaml")) is store
    known.index(index=target.index, id="key9", document={"docno": "d9", "body": "Paris"}, refresh=True)
    after = open_store(str(tmp_path / "ours.yaml"))
    assert (after.info().count, len(after.info().checksum)) == (5, 32)
    assert after.info().checksum != before
    assert ids(after, "Paris") == ["d9"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("{text: bodi}", "no field 'bodi'.*Did you mean 'body'"),
        ("{text: docno}", "'docno' has the type keyword; expected text"),
        ("{text: body, id: notes}", "'notes' has the type text; expected keyword"),
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


def test_an_index_that_is_deleted_or_closed(index_url, tmp_path):
    target = IndexTarget.parse(index_url)
    client(target).indices.create(
        index=target.index, mappings={"properties": {"body": {"type": "text", "similarity": "boolean"}}}
    )
    (tmp_path / "b.yaml").write_text(f"url: {target.url}\nfields: {{text: body}}\nlanguage: de\n")
    opened = open_store(str(tmp_path / "b.yaml"))
    assert opened.info().language == "de"
    client(target).indices.delete(index=target.index)
    with pytest.raises(RunError, match="is gone"):
        opened.search([Query("x")], 1, DEFAULT)
    opened.close()
    with pytest.raises(WorkError, match="closed"):
        opened.search([Query("x")], 1, DEFAULT)


def test_what_haystack_wrote_is_searched(index_url, tmp_path):
    document_stores = pytest.importorskip(
        "haystack_integrations.document_stores.elasticsearch", reason="needs elasticsearch-haystack"
    )
    from haystack import Document

    target = IndexTarget.parse(index_url)
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
    (tmp_path / "theirs.yaml").write_text(
        f"url: {target.url}\nfields: {{text: content, meta: [year, kind, old, tags, many]}}\n"
    )
    opened = open_store(str(tmp_path / "theirs.yaml"))
    assert opened.info().count == 3
    assert opened.fetch(["h1", "h2"]) == [
        Passage("h1", "The river Thames", meta={"year": 2001, "kind": "river", "tags": "a", "many": ["b", "c"]}),
        Passage("h2", "Rome and its river", meta={"kind": "city", "old": True}),
    ]
    found = opened.search([Query("Rome river")], 10, DEFAULT)[0].hits
    assert [hit.id for hit in found] == ["h2", "h3", "h1"]
    assert len(list(opened.scan())) == 3
    with pytest.raises(InputError, match="k1=null"):
        opened.check(replace(DEFAULT, k1=0.82, b=0.68))
    theirs.client.close()
    client(target).indices.delete(index=target.index)
