"""A collection that convqa made: opening, keeping to its version, and what is said when another takes its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, RunError, StoreDamaged
from convqa.stores import create_store, delete_store, exists, open_store
from convqa.stores.address import Address
from convqa.stores.base import Encoder, SearchParams
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.engine import identity, open_collection
from convqa.stores.elasticsearch.index import look_up
from convqa.stores.elasticsearch.target import IndexTarget

DEFAULT = SearchParams()
PASSAGES = [Passage(f"p{number:04}", f"passage about w{number % 7}") for number in range(1300)]
ENCODER = Encoder("e", "c", 2)


services = pytest.mark.services


@pytest.fixture
def url(index_url):
    with create_store(index_url, "en", settings={"k1": 0.9, "b": 0.4}) as made:
        made.add(PASSAGES)
    yield index_url
    if exists(index_url):
        delete_store(index_url)


def index_of(url):
    target = IndexTarget.parse(url)
    found = look_up(target)
    return client(target), found[0] if found else ""


def record(known, name, **changes):
    """Change what an index says of itself; None takes something out."""
    meta = {**known.indices.get_mapping(index=name).body[name]["mappings"]["_meta"], **changes}
    known.indices.put_mapping(index=name, meta={key: value for key, value in meta.items() if value != "out"})


@services
def test_it_says_what_it_is_and_refuses_what_it_cannot(url):
    store = open_store(url)
    info = store.info()
    assert (info.engine, info.count, info.k1, info.b, info.vectors) == ("elasticsearch", 1300, 0.9, 0.4, 0)
    assert info.capabilities == {"stopwords", "filter", "write", "vectors"}
    told = r"cannot search with k1=0\.82.*has k1=0\.9 and b=0\.4.*retriever\.k1=null"
    with pytest.raises(InputError, match=told):
        store.check(SearchParams(k1=0.82, b=0.68))
    with pytest.raises(InputError, match="cannot search with title_weight"):
        store.check(SearchParams(title_weight=1.0))
    store.check(SearchParams(k1=0.9, b=0.4))


@services
def test_many_passages_are_read_in_pages(url):
    store = open_store(url)
    assert sorted(store.scan(), key=lambda passage: passage.id) == PASSAGES
    assert sorted(store.without_vectors(), key=lambda passage: passage.id) == PASSAGES
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


def anew(url):
    with create_store(url, "en", replace=True) as made:
        made.add(PASSAGES[:3])


def added(url):
    store = open_collection(Address(url=url))
    store.add([Passage("new", "a passage")])
    store.commit()


@services
@pytest.mark.parametrize("change", [anew, added], ids=["new", "add"])
def test_another_version_ends_those_who_read_the_old_one(url, change):
    store = open_collection(Address(url=url))
    before, pages = identity(Address(url=url)), store.scan()
    next(pages)
    change(url)
    assert identity(Address(url=url)) != before
    for read in (
        lambda: store.search([Query("w1")], 3, DEFAULT),
        lambda: store.fetch(["p0001"]),
        lambda: list(store.scan()),
        lambda: list(store.without_vectors()),
        lambda: store.add([Passage("x", "new")]),
    ):
        with pytest.raises(RunError, match=r"was (changed|indexed).*[Ss]tart again") as caught:
            read()
        assert not caught.value.transient
    with pytest.raises(RunError):
        list(pages)
    assert open_store(url).search([Query("passage")], 1, DEFAULT)[0].hits


@services
def test_vectors_of_another_process_stop_those_who_search_vectors_and_nobody_else(url):
    first = open_collection(Address(url=url))
    first.add_vectors(["p0001"], np.eye(1, 2), ENCODER)
    first.commit()
    store, before = open_collection(Address(url=url)), identity(Address(url=url))
    first.add_vectors(["p0001"], np.ones((1, 2)), ENCODER)
    assert store.search_vectors(np.eye(1, 2), 3, ENCODER)[0].hits[0].score == 1
    first.commit()
    assert identity(Address(url=url)) != before
    for read in (lambda: store.search_vectors(np.eye(1, 2), 3, ENCODER), lambda: store.vectors(["p0001"])):
        with pytest.raises(RunError, match="was changed or indexed anew since it was opened"):
            read()
    assert store.search([Query("w1")], 3, DEFAULT)[0].hits
    assert first.search_vectors(np.ones((1, 2)), 3, ENCODER)[0].hits[0].score == 2


@services
def test_the_same_store_is_kept_until_something_is_committed(url):
    store = open_store(url)
    assert open_store(url) is store
    before = identity(Address(url=url))
    store.add([Passage("new", "a new passage")])
    assert identity(Address(url=url)) == before
    store.commit()
    assert store.search([Query("new")], 3, DEFAULT)[0].hits[0].id == "new"
    assert open_store(url).info().count == store.info().count == 1301


@services
@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"version": 1}, InputError, "has format 1; this version of convqa reads 4. Index the passages again"),
        ({"language": "out"}, StoreDamaged, "_meta: language: "),
        ({"ready": False}, InputError, "is incomplete.*same convqa index again"),
        ({"analyzer": "convqa-en-0"}, InputError, "was analy[sz]ed by convqa-en-0.*--replace"),
    ],
)
def test_what_this_version_cannot_read_is_said_and_can_be_deleted(url, changes, error, message):
    record(*index_of(url), **changes)
    with pytest.raises(error, match=message):
        open_collection(Address(url=url))
    delete_store(url)


@services
def test_what_is_no_collection_is_said(url):
    known, name = index_of(url)
    known.indices.put_alias(index=name, name=f"{name}-two")
    known.indices.create(index=f"{name}-other", aliases={f"{name}-two": {}})
    target = IndexTarget.parse(url)
    with pytest.raises(InputError, match=r"is an alias of 2 indexes.*expected one"):
        open_collection(Address(url=replace(target, index=f"{name}-two").url))
    known.indices.delete(index=f"{name}-other")


@services
def test_a_collection_is_searched_while_it_is_made(index_url):
    def ids(store):
        return {hit.id for hit in store.search([Query("Rome")], 9, DEFAULT)[0].hits}

    with create_store(index_url, "en") as made:
        made.add([Passage("a", "Rome"), Passage("b", "Rome")])
        assert made.fetch(["a"]) == [None] and list(made.scan()) == [] and ids(made) == set()
        made.commit()
        assert made.info().count == 2 and made.fetch(["a"]) == [Passage("a", "Rome")]
        assert ids(made) == {"a", "b"} and len(list(made.scan())) == len(list(made.without_vectors())) == 2
        made.delete(["a"])
        made.add([Passage("x", "Rome")])
    assert ids(open_store(index_url)) == {"b", "x"}
    delete_store(index_url)
