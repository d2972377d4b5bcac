"""A collection that convqa made: opening, keeping to its index, and what is said when that changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, RunError, StoreDamaged, StoreUnavailable, WorkError
from convqa.stores import change_store, create_store, delete_store, exists, open_store
from convqa.stores.address import Address, Fields
from convqa.stores.base import Prf, SearchParams
from convqa.stores.elasticsearch import identity, key, open_collection
from convqa.stores.elasticsearch import state as module
from convqa.stores.elasticsearch.connect import Target, client
from convqa.stores.elasticsearch.opening import _found
from convqa.stores.elasticsearch.schema import Record, vectors_of

DEFAULT = SearchParams()
PASSAGES = [Passage(f"p{number:04}", f"passage about w{number % 7}") for number in range(1300)]


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("elasticsearch://host/docs", "elasticsearch://host:9200/docs/"),
        ("elasticsearch://[::1]/docs", "elasticsearch://[::1]:9200/docs"),
    ],
)
def test_equal_addresses_have_equal_keys(url, other):
    assert key(Address(url)) == key(Address(other))
    assert key(Address(url)) != key(Address(url, Fields("body")))
    assert key(Address(url)) != key(Address(url.replace("docs", "more")))


def test_nothing_there_is_unavailable():
    with pytest.raises(StoreUnavailable, match=r"nothing answers at http://127\.0\.0\.1:1"):
        exists("elasticsearch://127.0.0.1:1/docs")


services = pytest.mark.services


@pytest.fixture
def url(index_url):
    with create_store(index_url, "en", settings={"k1": 0.9, "b": 0.4}) as made:
        made.add(PASSAGES)
    yield index_url
    if exists(index_url):
        delete_store(index_url)


def index_of(url):
    target = Target.parse(url)
    found = _found(target, "*.settings.index.uuid")
    return client(target), found[0] if found else ""


def record(known, name, **changes):
    meta = known.indices.get_mapping(index=name).body[name]["mappings"]["_meta"]
    known.indices.put_mapping(index=name, meta={**meta, **changes})


@services
def test_it_says_what_it_is_and_refuses_what_it_cannot(url):
    store = open_store(url)
    info = store.info()
    assert (info.engine, info.count, info.k1, info.b, info.vectors) == ("elasticsearch", 1300, 0.9, 0.4, 0)
    assert info.capabilities == {"stopwords", "filter", "write", "vectors"}
    told = r"made with k1=0\.9 and b=0\.4 and cannot search with k1=0\.82.*retriever\.k1=null.*collections set URL"
    with pytest.raises(InputError, match=told):
        store.check(SearchParams(k1=0.82, b=0.68))
    for params in (SearchParams(title_weight=1.0), SearchParams(prf=Prf())):
        with pytest.raises(InputError, match="cannot search with"):
            store.check(params)
    store.check(SearchParams(k1=0.9, b=0.4))


@services
def test_many_passages_are_read_in_pages(url):
    store = open_store(url)
    assert sorted(store.scan(), key=lambda passage: passage.id) == PASSAGES
    wanted = [passage.id for passage in PASSAGES[::-1]]
    assert store.fetch([*wanted, "nobody", wanted[0]]) == [*PASSAGES[::-1], None, PASSAGES[-1]]
    half = store.scan()
    next(half)
    half.close()


@services
def test_nothing_is_there_until_it_is_made(index_url):
    assert not exists(index_url)
    with pytest.raises(InputError, match=r"there is no index '.*'.*convqa index SOURCES --collection elasticsearch://"):
        open_store(index_url)


@services
def test_a_store_keeps_to_the_index_that_it_opened(url):
    store, known = open_store(url), index_of(url)[0]
    first = index_of(url)[1]
    with create_store(url, "en", replace=True) as made:
        made.add(PASSAGES[:3])
    assert index_of(url)[1] != first
    for read in (
        lambda: store.search([Query("w1")], 3, DEFAULT),
        lambda: store.fetch(["p0001"]),
        lambda: list(store.scan()),
    ):
        with pytest.raises(RunError, match=r"was indexed anew or deleted.*Start again") as caught:
            read()
        assert not caught.value.transient
    again = open_store(url)
    assert again is not store
    assert again.info().count == 3
    delete_store(url)
    assert known.indices.get(index=f"{Target.parse(url).index}*").body == {}


@services
def test_the_same_store_is_kept_until_something_is_committed(url):
    store = open_store(url)
    assert open_store(url) is store
    before = identity(Address(url))
    store.add([Passage("new", "a new passage")])
    assert identity(Address(url)) == before
    store.commit()
    assert identity(Address(url)) != before
    assert open_store(url).info().count == 1301


@services
def test_changed_settings_are_searched_with(url):
    before = open_store(url).search([Query("passage w3")], 3, DEFAULT)[0].hits
    change_store(url, {"k1": 2.0, "b": 0.1})
    after = open_store(url)
    assert (after.info().k1, after.info().b) == (2.0, 0.1)
    assert after.search([Query("passage w3")], 3, DEFAULT)[0].hits[0].score != before[0].score


@services
def test_a_change_that_was_cut_off_is_found_at_opening(url, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    known, name = index_of(url)
    record(known, name, count=1299, writing=False)
    with pytest.raises(StoreDamaged, match=r"has 1299 passages, and 1300 are there.*--add.*--replace"):
        open_collection(Address(url))
    record(known, name, count=1300, writing=True)
    assert open_collection(Address(url)).info().count == 1300


@services
def test_an_add_that_was_cut_off_lets_nobody_read_until_it_is_repeated(url, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    known, name = index_of(url)
    record(known, name, count=1299, writing=True)
    store = open_collection(Address(url))
    for read in (lambda: store.search([Query("passage")], 1, DEFAULT), lambda: store.fetch(["p"]), store.scan):
        with pytest.raises(StoreDamaged, match=r"has 1299 passages, and 1300 are there.*--add.*--replace"):
            read()
    store.add([Passage("new", "a new passage")])
    store.commit()
    assert store.info().count == open_collection(Address(url)).info().count == 1301
    assert store.search([Query("passage")], 1, DEFAULT)[0].hits


@services
@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"version": 2}, InputError, "has format 2; this version of convqa reads up to 1"),
        ({"ready": False}, InputError, "is not whole.*Run the same convqa index again"),
        ({"analyzer": "convqa-en-0"}, InputError, "was analysed by convqa-en-0.*--replace"),
    ],
)
def test_what_this_version_cannot_read_is_said(url, changes, error, message):
    known, name = index_of(url)
    record(known, name, **changes)
    with pytest.raises(error, match=message):
        open_collection(Address(url))
    record(known, name, version=1, ready=True, analyzer="convqa-en-1")


@services
def test_what_is_no_collection_is_said(url):
    known, name = index_of(url)
    with pytest.raises(InputError, match="has its own fields; leave fields out"):
        open_collection(Address(url, Fields("text")))
    known.indices.put_alias(index=name, name=f"{name}-two")
    known.indices.create(index=f"{name}-other", aliases={f"{name}-two": {}})
    target = Target.parse(url)
    with pytest.raises(InputError, match=r"is an alias of 2 indexes.*wanted: one"):
        open_collection(Address(replace(target, index=f"{name}-two").url))
    vectors = vectors_of(name)
    encoder = {"name": "e", "checksum": "c", "dimension": 2}
    meta = {**Record("en", "convqa-en-1", 0.9, 0.4).to_json(), "encoder": encoder}
    known.indices.create(index=vectors, mappings={"_meta": meta})
    with pytest.raises(InputError, match="is the index of a collection's vectors"):
        open_collection(Address(replace(target, index=vectors).url))
    known.indices.delete(index=[f"{name}-other", vectors])


@services
def test_a_closed_index_is_unavailable_until_it_is_opened(url):
    store, (known, name) = open_store(url), index_of(url)
    known.indices.close(index=name)
    with pytest.raises(StoreUnavailable, match=r"is closed\. Open it"):
        store.search([Query("w1")], 1, DEFAULT)
    known.indices.open(index=name, wait_for_active_shards=1)
    assert store.search([Query("w1")], 1, DEFAULT)[0].hits


@services
def test_a_closed_store_says_so(url):
    store = open_store(url)
    store.close()
    for use in (
        store.info,
        lambda: store.search([], 1, DEFAULT),
        lambda: store.fetch([]),
        store.scan,
        lambda: store.add([]),
    ):
        with pytest.raises(WorkError, match="is closed"):
            use()
