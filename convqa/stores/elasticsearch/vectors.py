"""The index of the vectors of passages, under the same ``_id``.

A document has ``pid``, ``vector`` and, for filters, the ``meta`` terms of its passage; the last two are not in
``_source``. Candidates are found by a graph of vectors in 8 bits, and scored by the full ones, by inner product in the
form of Elasticsearch's ``max_inner_product``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convqa.domain import MetaField
from convqa.stores.base import Encoder, Floats
from convqa.stores.content import terms_of
from convqa.stores.elasticsearch.index import IndexedDocument
from convqa.stores.elasticsearch.schema import META_TERMS, PASSAGE_ID, Version


def vector_settings(version: Version) -> dict[str, Any]:
    return {
        "number_of_shards": version.shards,
        "number_of_replicas": version.replicas,
        "refresh_interval": "-1",
    }


def vector_mappings(encoder: Encoder) -> dict[str, Any]:
    vector = {
        "type": "dense_vector",
        "dims": encoder.dimension,
        "similarity": "max_inner_product",
        "index_options": {"type": "int8_hnsw"},
    }
    return {
        "dynamic": False,
        "_source": {"excludes": ["vector", "meta"]},
        "properties": {"pid": PASSAGE_ID, "meta": META_TERMS, "vector": vector},
    }


def vector_document(
    key: str,
    id: str,
    row: Floats,
    meta: Mapping[str, MetaField],
) -> IndexedDocument:
    """Return the document of a passage's vector. :param meta: that of the passage."""
    return IndexedDocument(key, id, {"pid": id, "vector": row, "meta": terms_of(meta)})
