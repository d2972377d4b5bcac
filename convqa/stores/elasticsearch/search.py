"""Searches of an index, and rankings from their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from convqa.domain import Hit, Passage, Ranking
from convqa.errors import InputError
from convqa.stores.base import Filter, Floats
from convqa.stores.content import meta_terms
from convqa.stores.elasticsearch.index import ServerHit, ServerIndex

Scored = tuple[float, str]
"""Score and id of a passage. The server's scores are 32-bit floats."""

SPARE_HITS = 50
"""Hits requested beyond the cut, to see ties at it."""

MAX_HITS = 10_000

NOTHING: dict[str, Any] = {"match_none": {}}
"""The query of a text without words."""

BARE = {
    "_source": False,
    "track_total_hits": False,
    "stored_fields": "_none_",
    "docvalue_fields": ["pid"],
}
"""A search for ids and scores."""

_CANDIDATES = 400
_CANDIDATES_PER_HIT = 4
_OVERSAMPLE = 2.0
"""This many times more candidates are chosen by vectors in 8 bits, and scored by the full ones."""


def best(
    index: ServerIndex,
    queries: Sequence[dict[str, Any]],
    k: int,
) -> list[list[Scored]]:
    """Return the hits that may be among the best ``k`` of each query, without scores of 0. Ties are settled by id."""
    size = hits_asked(k)
    bodies = [{"size": size, "query": query, **BARE} for query in queries]
    matches = [scored(hits) for hits in index.search(bodies)]
    # If all hits from the cut to the last tie, others may tie too, and the server has to sort by id as well. That takes
    # twice as long.
    full = [number for number, hits in enumerate(matches) if len(hits) >= size]
    tied = [number for number in full if matches[number][k - 1][0] == matches[number][-1][0]]
    by_id = {"sort": [{"_score": "desc"}, {"pid": "desc"}]}
    answers = index.search([bodies[number] | by_id for number in tied])
    for number, found in zip(tied, answers, strict=True):
        matches[number] = [tuple(hit["sort"]) for hit in found]
    return [[(score, id) for score, id in hits if score] for hits in matches]


def nearest(row: Floats, k: int) -> dict[str, Any]:
    """Return the search for the ``k`` nearest vectors."""
    return {
        "field": "vector",
        "query_vector": row,
        "k": hits_asked(k),
        "num_candidates": min(MAX_HITS, max(_CANDIDATES, _CANDIDATES_PER_HIT * k)),
        "rescore_vector": {"oversample": _OVERSAMPLE},
    }


def inner_product(score: float) -> float:
    """Return the inner product of two vectors from Elasticsearch's score, which is never negative.

    >>> [inner_product(score) for score in (3.0, 1.0, 0.5)]
    [2.0, 0.0, -1.0]
    """
    return score - 1 if score >= 1 else 1 - 1 / score


def filtered(accepted: Filter | None) -> dict[str, Any]:
    """Return the part of a query that accepts passages with these meta values."""
    if not accepted:
        return {}
    clauses = [{"terms": {"meta": terms}} for terms in meta_terms(accepted)]
    return {"filter": clauses}


def hits_asked(k: int) -> int:
    """Return how many hits a search for ``k`` requests; refuse more than a server returns."""
    if k > MAX_HITS:
        raise InputError(f"top_k {k}: Elasticsearch gives at most {MAX_HITS} hits.")
    return min(k + SPARE_HITS, MAX_HITS)


def scored(hits: Sequence[ServerHit]) -> list[Scored]:
    return [(hit["_score"], hit["fields"]["pid"][0]) for hit in hits]


def rankings(
    matches: Sequence[list[Scored]],
    k: int,
    texts: int,
    fetch: Callable[[Sequence[str]], Sequence[Passage | None]],
) -> list[Ranking]:
    """Return the best ``k`` hits of each query, with passages for the first ``texts``."""
    kept = [sorted(hits, reverse=True)[:k] for hits in matches]
    ids = sorted({id for hits in kept for _, id in hits[:texts]})
    passage_of = dict(zip(ids, fetch(ids), strict=True))
    result = []
    for hits in kept:
        passages = [passage_of[id] for _, id in hits[:texts]]
        pairs = zip_longest(hits, passages)
        result.append(Ranking(tuple(Hit(id, score, passage) for (score, id), passage in pairs)))
    return result
