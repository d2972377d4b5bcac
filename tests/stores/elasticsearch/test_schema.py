"""What an index of convqa says about itself, and the digests that a server can sum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.content import CHECKSUMS
from convqa.stores.elasticsearch.schema import (
    PARTS,
    Record,
    VectorRecord,
    document_id,
    mappings,
    parts,
    settings,
    total,
)

RECORD = Record("de", "convqa-de-1", 0.9, 0.4, 3, "ab" * 16, batches=2, prefix=("0" * 16, "1" * 16))


@given(st.lists(st.integers(0, CHECKSUMS - 1), max_size=20))
def test_sums_of_parts_are_the_sum_of_digests(digests):
    sums = {name: float(sum(parts(digest)[name] for digest in digests)) for name in PARTS}
    assert total(sums) == sum(digests) % CHECKSUMS


def test_each_part_has_16_bits():
    assert set(parts(CHECKSUMS - 1).values()) == {2**16 - 1}
    assert len(parts(0)) == 8


def test_a_record_comes_back_as_it_was():
    assert Record.of(RECORD.to_json(), "x") == RECORD
    vectors = VectorRecord(Encoder("e", "c", 3), VectorOptions("int8", "hnsw"), 7)
    assert VectorRecord.of(vectors.to_json(), "x-vectors") == vectors
    earlier = {name: value for name, value in vectors.to_json().items() if name != "filters"}
    assert (vectors.filters, VectorRecord.of(earlier, "x-vectors").filters) == (True, False)


def test_what_a_later_version_adds_inside_this_format_is_left_out():
    assert Record.of({**RECORD.to_json(), "more": 1}, "x") == RECORD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "index x was not made by convqa"),
        ({"version": 2}, r"index x has format 2; this version of convqa reads up to 1.*--replace"),
        ({"version": "1"}, "has format '1'"),
    ],
)
@pytest.mark.parametrize("record", [RECORD, VectorRecord(Encoder("e", "c", 3), VectorOptions())])
def test_other_formats_are_refused(record, change, message):
    with pytest.raises(InputError, match=message):
        type(record).of({**record.to_json(), **change}, "x")


@pytest.mark.parametrize(
    ("record", "name"), [(RECORD, "k1"), (VectorRecord(Encoder("e", "c", 3), VectorOptions()), "encoder")]
)
def test_a_record_that_lacks_something_is_damaged(record, name):
    data = record.to_json()
    del data[name]
    with pytest.raises(StoreDamaged, match=f"index x: its _meta lacks '{name}'"):
        type(record).of(data, "x")


def test_ids_of_any_length_become_32_digits():
    assert len(document_id("é" * 5000)) == len(document_id("")) == 32
    assert document_id("a") != document_id("b")


def test_an_index_keeps_the_similarity_and_the_record_that_it_was_made_with():
    made = settings(3, 1, 0.9, 0.4)
    assert made["similarity"]["default"] == {"type": "BM25", "k1": 0.9, "b": 0.4}
    assert (made["number_of_shards"], made["number_of_replicas"]) == (3, 1)
    assert mappings(RECORD)["_meta"] == RECORD.to_json()
