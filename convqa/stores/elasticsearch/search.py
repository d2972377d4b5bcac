"""Searches of an index, and rankings from their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from convqa.domain import Hit, Passage, Ranking
from convqa.errors import InputError
from convqa.stores.base import Filter, Floats
from convqa.stores.content import meta_terms
from convqa.stores.elasticsearch.reading import Answer, Reader

Scored = tuple[float, str]
"""Score and id of a passage. The server's scores are 32-bit floats."""

SPARE = 50
"""Hits requested beyond the cut, to see ties at it."""

MOST_HITS = 10_000

SCORED = ("hits.hits.fields", "hits.hits._score")
_SORTED = ("hits.hits.sort",)
BARE = {"_source": False, "track_total_hits": False, "stored_fields": "_none_"}


_CANDIDATES = 400
_CANDIDATES_EACH = 4
_OVERSAMPLE = {"int8": 2.0, "int4": 3.0, "bit": 4.0, "bbq": 4.0}
"""By precision: this many times more candidates are chosen by quantized vectors and scored by the originals."""


def best(reader: Reader, queries: Sequence[dict[str, Any] | None], k: int) -> list[list[Scored]]:
    """Return the hits that may be among the best ``k`` of each query, without scores of 0. Ties are settled by id."""
    bodies = [None if query is None or k < 1 else _body(query, k) for query in queries]
    matches = [scored(answer) for answer in answers(reader, bodies, SCORED)]
    # If all hits from the cut to the last tie, others may tie too, and the server has to sort by id as well. That takes
    # twice as long.
    tied = [index for index, hits in enumerate(matches) if len(hits) >= asked(k) and hits[k - 1][0] == hits[-1][0]]
    bodies = [_body(queries[index], k, sort=[{"_score": "desc"}, {"pid": "desc"}]) for index in tied]
    for index, answer in zip(tied, answers(reader, bodies, _SORTED), strict=True):
        matches[index] = [(hit["sort"][0], hit["sort"][1]) for hit in answer["hits"]["hits"]]
    return [[hit for hit in hits if hit[0]] for hits in matches]


def nearest(field: str, row: Floats, k: int, precision: str) -> dict[str, Any]:
    """Return the search for the ``k`` nearest vectors of a field, scored by the original vectors."""
    candidates = min(MOST_HITS, max(_CANDIDATES, _CANDIDATES_EACH * k))
    knn = {"field": field, "query_vector": row, "k": asked(k), "num_candidates": candidates}
    oversample = _OVERSAMPLE.get(precision)
    return {**knn, "rescore_vector": {"oversample": oversample}} if oversample else knn


def inner_product(score: float) -> float:
    """Return the inner product of two vectors from Elasticsearch's score, which is never negative.

    >>> [inner_product(score) for score in (3.0, 1.0, 0.5)]
    [2.0, 0.0, -1.0]
    """
    return score - 1 if score >= 1 else 1 - 1 / score


def _body(query: Any, k: int, **more: Any) -> bytes:
    fields = {} if more else {"docvalue_fields": ["pid"]}
    return orjson.dumps({"size": asked(k), **BARE, **fields, **more, "query": query})


def filtered(accepted: Filter | None) -> dict[str, Any]:
    return {"filter": [{"terms": {"meta": terms}} for terms in meta_terms(accepted)]} if accepted else {}


def asked(k: int) -> int:
    """Return how many hits a search for ``k`` requests; refuse more than a server returns."""
    if k > MOST_HITS:
        raise InputError(f"top_k {k}: Elasticsearch gives at most {MOST_HITS} hits.")
    return min(k + SPARE, MOST_HITS)


def scored(answer: Answer) -> list[Scored]:
    hits = answer.get("hits", {}).get("hits", [])
    return [(hit["_score"], hit["fields"]["pid"][0]) for hit in hits]


def answers(reader: Reader, bodies: Sequence[bytes | None], fields: Sequence[str]) -> list[Answer]:
    """Return the answers to searches; an empty one for None."""
    received = iter(reader.search([body for body in bodies if body is not None], fields))
    return [{} if body is None else next(received) for body in bodies]


def rankings(
    matches: Sequence[list[Scored]], k: int, texts: int, fetch: Callable[[Sequence[str]], Sequence[Passage | None]]
) -> list[Ranking]:
    """Return the best ``k`` hits of each query, with passages for the first ``texts``."""
    best = [sorted(hits, reverse=True)[:k] for hits in matches]
    shown = max(texts, 0)
    ids = list(dict.fromkeys(id for hits in best for _, id in hits[:shown]))
    passages = dict(zip(ids, fetch(ids), strict=True))
    return [
        Ranking(
            tuple(Hit(id, score, passages[id] if place < shown else None) for place, (score, id) in enumerate(hits))
        )
        for hits in best
    ]
