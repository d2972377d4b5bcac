"""Vectors on the embedded store: files, crashes, exactness, precision."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores.address import Address
from convqa.stores.base import Encoder
from convqa.stores.embedded import vectors as module
from convqa.stores.embedded.engine import create, open_collection
from convqa.stores.embedded.manifest import CollectionManifest
from convqa.stores.embedded.writer import FolderWriter

ENCODER = Encoder("hash", "0" * 64, 16)
PASSAGES = [Passage(f"p{number:03}", f"passage number w{number} of many") for number in range(300)]
IDS = [passage.id for passage in PASSAGES]


def vectors(count, seed=0, dimension=16):
    """Of length 1."""
    made = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


MATRIX = vectors(300)
QUERIES = vectors(70, seed=1)


def at(folder):
    return Address(url=str(folder))


def opened(folder):
    return open_collection(at(folder))


@pytest.fixture
def bare(tmp_path):
    """A collection without vectors."""
    made = tmp_path / "collection"
    with create(at(made), "en") as store:
        store.add(PASSAGES)
    return made


@pytest.fixture
def folder(bare):
    store = opened(bare)
    store.add_vectors(IDS, MATRIX, ENCODER)
    store.commit()
    store.close()
    return bare


def expected(k, matrix=MATRIX, queries=QUERIES, ids=IDS):
    """By the definition: inner products in 64 bits, rounded; ties by id descending."""
    scores = (queries.astype(np.float64) @ matrix.astype(np.float64).T).astype(np.float32)
    return [sorted(zip(row.tolist(), ids, strict=True), reverse=True)[:k] for row in scores]


def found(store, k, queries=QUERIES, encoder=ENCODER):
    return [[(hit.score, hit.id) for hit in ranking.hits] for ranking in store.search_vectors(queries, k, encoder)]


def data(folder):
    """The folder of a collection's files."""
    (found,) = folder.glob("data-*")
    return found


def files(folder, name="*"):
    return {path.name: path.read_bytes() for path in data(folder).glob(name) if path.is_file()}


def test_the_search_is_exact(folder, monkeypatch):
    monkeypatch.setattr(module, "_PRODUCTS_IN_MEMORY", 700)
    assert found(opened(folder), 10) == expected(10)
    assert found(opened(folder), 300) == found(opened(folder), 1000) == expected(300)
    assert found(opened(folder), 0) == [[]] * 70
    assert opened(folder).search_vectors(QUERIES[:0], 10, ENCODER) == []


def test_the_text_side_is_not_rewritten_when_vectors_come(bare):
    before = files(bare, "[!v]*")
    store = opened(bare)
    store.add_vectors(IDS, MATRIX, ENCODER)
    store.commit()
    assert files(bare, "[!v]*") == before
    info = store.info()
    assert (info.encoder, info.vectors, info.count) == (ENCODER, 300, 300)
    assert info.checksum == opened(bare).info().checksum
    store.add([Passage("later", "a zebra")])
    store.commit()
    assert found(opened(bare), 10) == expected(10)
    assert [passage.id for passage in opened(bare).without_vectors()] == ["later"]


def test_a_collection_whose_vectors_are_all_gone_may_have_another_encoder(folder):
    store = opened(folder)
    store.delete(IDS[1:])
    store.commit()
    assert store.info().vectors == 1
    store.delete(IDS[:1])
    store.add([Passage("new", "new")])
    store.commit()
    assert (store.info().encoder, store.info().vectors) == (None, 0)
    assert files(folder, "vectors.*") == {}
    store.add_vectors(["new"], np.ones((1, 2)), Encoder("other", "1", 2))
    store.commit()
    assert store.info().encoder == Encoder("other", "1", 2)


def test_ties_go_to_the_highest_ids_at_the_cut_too(bare):
    """Equal vectors whose products differ by their place in the matrix would be no ties."""
    encoder = Encoder("wide", "", 384)
    store = opened(bare)
    store.add_vectors(IDS, np.repeat(vectors(3, seed=4, dimension=384), 100, axis=0), encoder)
    store.commit()
    for query in vectors(5, seed=6, dimension=384):
        (hits,) = found(store, 150, query[None], encoder)
        assert len(hits) == 150
        assert hits == sorted(hits, reverse=True)
        assert len({score for score, _ in hits}) == 2
        assert {id for _, id in hits[100:]} == {f"p{int(hits[100][1][1]) * 100 + 50 + n:03}" for n in range(50)}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 90),
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-12, 1.0, 1e12]),
)
def test_candidates_hold_the_best_of_any_matrix(count, dimension, k, seed, spread):
    chance = np.random.default_rng(seed)
    lengths = 10.0 ** chance.choice([0, np.log10(spread)] if spread else [0, -20], (count, 1))
    values = (chance.integers(-2, 3, (count, dimension)) * lengths).astype(np.float32)
    queries = chance.standard_normal((3, dimension)).astype(np.float32)

    longest = float(np.linalg.norm(values.astype(float), axis=1).max())

    products = queries @ values.T
    floors = module.floors(products, module.margins(queries, longest), k)
    for query, row, floor in zip(queries, products, floors, strict=True):
        got = np.flatnonzero(row >= floor)
        scores = (values.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
        kth = np.sort(scores)[::-1][: min(k, count)][-1]
        assert set(np.flatnonzero(scores >= kth).tolist()) <= set(got.tolist())


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.mark.parametrize(("owner", "method"), [(CollectionManifest, "write"), (FolderWriter, "_live_vectors")])
def test_killed_before_the_manifest_the_old_state_stays_and_the_next_writer_cleans_up(
    folder, monkeypatch, owner, method
):
    before = opened(folder).info()
    store = opened(folder)
    store.add_vectors(IDS, vectors(300, seed=2), ENCODER)
    with monkeypatch.context() as patch:
        patch.setattr(owner, method, lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            store.commit()
    del store
    assert opened(folder).info() == before
    assert found(opened(folder), 10) == expected(10)
    again = opened(folder)
    again.add([Passage("kept", "kept")])
    again.commit()
    assert found(again, 10) == expected(10)
    again.add_vectors(IDS[:1], MATRIX[:1], ENCODER)
    again.commit()
    assert {name: len(data) for name, data in files(folder, "vectors.*").items()} == {
        "vectors.matrix": 301 * 64,
        "vectors.rows": 301 * 8,
    }


def test_what_readers_may_still_have_open_is_never_cut(bare):
    """A file that a killed commit did not remove: its name comes again, the file does not."""
    left = data(bare) / "vectors.matrix"
    left.write_bytes(b"still read")
    with left.open("rb") as reader:
        store = opened(bare)
        store.add_vectors(IDS, MATRIX, ENCODER)
        store.commit()
        assert reader.read() == b"still read"
    assert found(store, 10) == expected(10)


LOAD = """
import hashlib, sys
import numpy as np
from itertools import islice
from convqa.stores.address import Address
from convqa.stores.base import Encoder
from convqa.stores.embedded.engine import open_collection
def encode(passage):
    seed = int.from_bytes(hashlib.sha256(passage.text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(16)
store = open_collection(Address(url=sys.argv[1]))
missing = store.without_vectors()
while batch := list(islice(missing, 20)):
    store.add_vectors([p.id for p in batch], np.array([encode(p) for p in batch]), Encoder("hash", "0" * 64, 16))
    store.commit()
    print(len(batch), flush=True)
"""


def load(folder):
    return subprocess.Popen([sys.executable, "-c", LOAD, str(folder)], stdout=subprocess.PIPE, cwd=os.getcwd())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a load that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed") / "whole"
    with create(at(folder), "en") as store:
        store.add(PASSAGES)
    with load(folder) as process:
        process.stdout.read()
    return folder


@pytest.mark.parametrize("lines", [0, 2, 6])
def test_a_load_that_was_killed_goes_on_and_ends_as_if_undisturbed(bare, undisturbed, lines):
    with load(bare) as process:
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(0.003 * lines)
        process.send_signal(signal.SIGKILL)
    store = opened(bare)
    assert 20 * lines <= store.info().vectors < 300
    assert store.info().vectors == 300 - len(list(store.without_vectors()))
    with load(bare) as process:
        process.stdout.read()
    whole = opened(undisturbed)
    assert opened(bare).info() == whole.info()
    assert opened(bare).info().vectors == 300
    assert found(opened(bare), 30) == found(whole, 30)


def bad(row, value):
    matrix = MATRIX[:2].astype(np.float64)
    matrix[row, 3] = value
    return matrix


@pytest.mark.parametrize(
    ("ids", "matrix", "encoder", "message"),
    [
        (
            IDS[:2],
            MATRIX[:2],
            Encoder("other", "f" * 64, 16),
            r"has vectors of 'hash' \(16 .*got vectors of 'other'",
        ),
        (IDS[:2], MATRIX[:2], Encoder("hash", "1" * 64, 16), r"checksum 1{12}\).*--replace"),
        (IDS[:2], MATRIX[:2, :8], Encoder("hash", "0" * 64, 8), "8 dimensions"),
        (
            ["p001", "x"],
            MATRIX[:2],
            ENCODER,
            "there is no passage 'x'.*add passages",
        ),
        (["p001", "\ud800"], MATRIX[:2], ENCODER, "there is no passage"),
        (IDS[:2], bad(1, np.nan), ENCODER, "vector 2 of 2 has a component that is NaN"),
    ],
)
def test_what_cannot_be_a_vector_here_is_refused_and_nothing_stays(folder, ids, matrix, encoder, message):
    store = opened(folder)
    before = (folder / "manifest.json").read_bytes()
    store.add_vectors(IDS[:1], MATRIX[1:2], ENCODER)
    with pytest.raises(InputError, match=message):
        store.add_vectors(ids, matrix, encoder)
    store.commit()
    assert found(opened(folder), 10) == expected(10)
    assert (folder / "manifest.json").read_bytes() == before


def test_with_a_filter_every_vector_that_it_lets_through_is_compared(bare):
    chosen = [n for n in range(300) if n % 10 < 3 and n != 31]
    with create(at(bare), "en", replace=True) as store:
        store.add(Passage(IDS[n], "a text", meta={"last": n % 10}) for n in range(300))
        store.add_vectors(IDS, MATRIX, ENCODER)
    store = opened(bare)
    store.delete([IDS[31]])
    store.commit()
    accepted = {"last": (0, 1, 2)}
    wanted = expected(10, MATRIX[chosen], ids=[IDS[n] for n in chosen])
    together = store.search_vectors(QUERIES, 10, ENCODER, 0, accepted)
    assert [[(hit.score, hit.id) for hit in ranking.hits] for ranking in together] == wanted
    assert [store.search_vectors(QUERIES[n : n + 1], 10, ENCODER, 0, accepted)[0] for n in range(70)] == together
    for number in range(20):
        (few,) = store.search_vectors(QUERIES[:1], 300, ENCODER, 0, {"last": (number,)})
        assert len(few.hits) == (29 if number == 1 else 30 if number < 10 else 0)
