"""The index of the vectors of passages, under the same ``_id``.

A document has ``pid``, ``vector`` and, for filters, the ``meta`` terms of its passage; the last two are not in
``_source``. Scores are inner products, those of vectors in the form of Elasticsearch's ``max_inner_product``.

Token weights, in place of vectors, are a field of the type ``sparse_vector``. Tokens are named by their numbers. Lucene
keeps the first 9 significant bits of a weight, as the folder store does. By default Elasticsearch prunes the frequent
and light tokens of a query, which changes scores: the field and every query switch that off.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from convqa.domain import MetaValue
from convqa.stores.base import Encoder, Floats
from convqa.stores.content import meta_term
from convqa.stores.elasticsearch.index import IndexedDocument
from convqa.stores.elasticsearch.schema import META_TERMS, PASSAGE_ID, VectorMeta, Version
from convqa.text.analysis import MOST_TOKENS

logger = logging.getLogger(__name__)

PREFIX_OF_TYPE = {"float32": "", "int8": "int8_", "bit": "bbq_"}
"""Precision -> prefix of the types of Elasticsearch's vector indexes."""

# Weights are stored because neither _source nor a script can return them.
_WEIGHTS = {"type": "sparse_vector", "store": True, "index_options": {"prune": False}}

_SMALLEST_WEIGHT = np.finfo(np.float32).smallest_normal
"""The smallest weight in Lucene."""


def vector_settings(version: Version) -> dict[str, Any]:
    return {
        "number_of_shards": version.shards,
        "number_of_replicas": version.replicas,
        "refresh_interval": "-1",
    }


def vector_mappings(meta: VectorMeta) -> dict[str, Any]:
    vector: dict[str, Any] = _WEIGHTS
    if not meta.encoder.sparse:
        structure = "flat" if meta.options.index == "exact" else "hnsw"
        vector = {
            "type": "dense_vector",
            "dims": meta.encoder.dimension,
            "similarity": "max_inner_product",
            "index_options": {"type": PREFIX_OF_TYPE[meta.options.precision] + structure},
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
    encoder: Encoder,
    meta: Mapping[str, MetaValue],
) -> IndexedDocument:
    """Return the document of a passage's vector. :param meta: that of the passage."""
    terms = [meta_term(name, value) for name, value in meta.items()]
    return IndexedDocument(key, id, {"pid": id, "vector": _weights(row) if encoder.sparse else row, "meta": terms})


def vector_of(hit: Mapping[str, Any], encoder: Encoder) -> Floats:
    """Return the vector in a hit's fields. A passage without token weights has no field."""
    values = hit.get("fields", {"vector": [{}]})["vector"][0]
    if not encoder.sparse:
        return np.array(values, np.float32)
    row = np.zeros(encoder.dimension, np.float32)
    row[[int(token) for token in values]] = list(values.values())
    return row


def weights_query(row: Floats) -> dict[str, Any]:
    """Return a query that scores by inner product with a row of token weights."""
    weights = _weights(row)
    if len(weights) > MOST_TOKENS:
        # Servers may refuse more clauses.
        logger.warning("a query has weights of %d tokens: the heaviest %d are searched", len(weights), MOST_TOKENS)
        heaviest = sorted(weights.items(), key=lambda item: (-item[1], int(item[0])))
        weights = dict(heaviest[:MOST_TOKENS])
    return {"sparse_vector": {"field": "vector", "query_vector": weights, "prune": False}}


def _weights(row: Floats) -> dict[str, float]:
    """Return the positive weights of a row by token."""
    tokens = np.flatnonzero(row >= _SMALLEST_WEIGHT)
    return dict(zip(map(str, tokens.tolist()), row[tokens].tolist(), strict=True))
