"""Token weights of passages, in place of their vectors: a field of the type ``sparse_vector``.

Tokens are named by their numbers. Lucene keeps the first 9 significant bits of a weight, as the folder store does. By
default Elasticsearch prunes the frequent and light tokens of a query, which changes scores: the field and every query
switch that off.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from convqa.stores.base import Floats
from convqa.text.analysis import MOST_TOKENS

logger = logging.getLogger(__name__)

FIELD = {
    "type": "sparse_vector",
    "store": True,
    "index_options": {"prune": False},
}
"""The mapping. Weights are stored because neither ``_source`` nor a script can return them."""

_SMALLEST_WEIGHT = np.finfo(np.float32).smallest_normal
"""The smallest weight in Lucene."""


def by_token(row: Floats) -> dict[str, float]:
    """Return the positive weights of a row by token."""
    tokens = np.flatnonzero(row >= _SMALLEST_WEIGHT)
    return dict(zip(map(str, tokens.tolist()), row[tokens].tolist(), strict=True))


def row_of(weights: Mapping[str, float], dimension: int) -> Floats:
    row = np.zeros(dimension, np.float32)
    row[[int(token) for token in weights]] = list(weights.values())
    return row


def query(row: Floats) -> dict[str, Any]:
    """Return a query that scores by inner product with a row."""
    weights = by_token(row)
    if len(weights) > MOST_TOKENS:
        # Servers may refuse more clauses.
        logger.warning("a query has weights of %d tokens: the heaviest %d are searched", len(weights), MOST_TOKENS)
        heaviest = sorted(weights.items(), key=lambda item: (-item[1], int(item[0])))
        weights = dict(heaviest[:MOST_TOKENS])
    clause = {
        "field": "vector",
        "query_vector": weights,
        "prune": False,
    }
    return {"sparse_vector": clause}
