"""Rankings from an index that convqa made: by BM25 of tokens, nearest vectors or token weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Encoder, Filter, Floats, Ids, SearchParams, check_weights
from convqa.stores.content import meta_terms
from convqa.stores.elasticsearch import weights
from convqa.stores.elasticsearch.bulk import slices
from convqa.stores.elasticsearch.reading import Answer, Reader
from convqa.stores.elasticsearch.schema import document_id, is_text
from convqa.text.analysis import Analyzer, weigh

Scored = tuple[float, str]
"""Score and id of a passage. The server's scores are 32-bit floats."""

SPARE = 50
"""Hits requested beyond the cut, to see ties at it."""

MOST_HITS = 10_000

_SCORED = ("hits.hits.fields", "hits.hits._score")
_SORTED = ("hits.hits.sort",)
_BARE = {"_source": False, "track_total_hits": False, "stored_fields": "_none_"}


_CANDIDATES = 400
_CANDIDATES_EACH = 4
_OVERSAMPLE = {"int8": 2.0, "int4": 3.0, "bit": 4.0, "bbq": 4.0}
"""By precision: this many times more candidates are chosen by quantized vectors and scored by the originals."""

_VECTORS = 200
"""Vectors read by one search: 1 MB at 384 dimensions."""


def search(
    reader: Reader, analyzer: Analyzer, k1: float, queries: Sequence[Query], k: int, params: SearchParams, texts: int
) -> list[Ranking]:
    """Rank the best ``k`` passages for each query by BM25 over the field ``tokens``.

    :raises InputError: for more hits than the server returns.
    :raises ValueError: for weights that are not finite, negative, or too large.
    """
    wanted = [_query(query, analyzer, k1, params) for query in queries]
    return rankings(_best(reader, wanted, k), k, texts, lambda ids: fetch(reader, ids))


def _best(reader: Reader, queries: Sequence[dict[str, Any] | None], k: int) -> list[list[Scored]]:
    """Return the hits that may be among the best ``k`` of each query, without scores of 0. Ties are settled by id."""
    bodies = [None if query is None or k < 1 else _body(query, k) for query in queries]
    matches = [scored(answer) for answer in answers(reader, bodies, _SCORED)]
    # If all hits from the cut to the last tie, others may tie too, and the server has to sort by id as well. That takes
    # twice as long.
    tied = [index for index, hits in enumerate(matches) if len(hits) >= asked(k) and hits[k - 1][0] == hits[-1][0]]
    bodies = [_body(queries[index], k, sort=[{"_score": "desc"}, {"pid": "desc"}]) for index in tied]
    for index, answer in zip(tied, answers(reader, bodies, _SORTED), strict=True):
        matches[index] = [(hit["sort"][0], hit["sort"][1]) for hit in answer["hits"]["hits"]]
    return [[hit for hit in hits if hit[0]] for hits in matches]


def _query(query: Query, analyzer: Analyzer, k1: float, params: SearchParams) -> dict[str, Any] | None:
    weight_of = weigh(query, analyzer, params.stopwords)
    check_weights(weight_of.values(), query)
    # Elasticsearch multiplies by k1 + 1.
    terms = [
        {"term": {"tokens": {"value": token, "boost": weight / (k1 + 1)}}}
        for token, weight in weight_of.items()
        if is_text(token)
    ]
    return {"bool": {"should": terms, "minimum_should_match": 1, **_filter(params.filter)}} if terms else None


def search_vectors(
    passages: Reader, neighbours: Reader, precision: str, matrix: Floats, k: int, texts: int, filter: Filter | None
) -> list[Ranking]:
    """Rank the best ``k`` passages by vector for each row. ``neighbours`` reads the index of vectors."""
    if k < 1:
        return [Ranking()] * len(matrix)
    bodies = []
    for row in matrix:
        knn = nearest("vector", row, k, precision) | _filter(filter)
        body = {"size": asked(k), **_BARE, "docvalue_fields": ["pid"], "knn": knn}
        bodies.append(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY))
    matches = [scored(answer) for answer in neighbours.search(bodies, _SCORED)]
    matches = [[(inner_product(score), id) for score, id in hits] for hits in matches]
    return rankings(matches, k, texts, lambda ids: fetch(passages, ids))


def search_weights(
    passages: Reader, neighbours: Reader, matrix: Floats, k: int, texts: int, filter: Filter | None
) -> list[Ranking]:
    """Rank the best ``k`` of the passages that share a weighted token with a row, by inner product."""
    queries = [{"bool": {"must": weights.query(row), **_filter(filter)}} for row in matrix]
    return rankings(_best(neighbours, queries, k), k, texts, lambda ids: fetch(passages, ids))


def nearest(field: str, row: Floats, k: int, precision: str) -> dict[str, Any]:
    """Return the search for the ``k`` nearest vectors of a field, scored by the original vectors."""
    candidates = min(MOST_HITS, max(_CANDIDATES, _CANDIDATES_EACH * k))
    knn = {"field": field, "query_vector": row, "k": asked(k), "num_candidates": candidates}
    oversample = _OVERSAMPLE.get(precision)
    return {**knn, "rescore_vector": {"oversample": oversample}} if oversample else knn


def vectors(reader: Reader, ids: Ids, encoder: Encoder) -> list[Floats | None]:
    """Return the vectors of passages, None for missing ones.

    They are not in ``_source``: a script reads them exactly, as 32-bit floats. Token weights are a stored field.
    """
    keys = [document_id(id) for id in ids]
    distinct = sorted({key for key in keys if key})
    script = {"script_fields": {"vector": {"script": "doc['vector'].vectorValue"}}}
    wanted = {"size": _VECTORS, "_source": False, **({"fields": ["vector"]} if encoder.sparse else script)}
    bodies = [orjson.dumps({**wanted, "query": {"ids": {"values": chunk}}}) for chunk in slices(distinct, _VECTORS)]
    row_of = {
        hit["_id"]: _vector(hit, encoder)
        for answer in reader.search(bodies, ("hits.hits._id", "hits.hits.fields"))
        for hit in answer.get("hits", {}).get("hits", ())
    }
    return [row_of.get(key) for key in keys]


def _vector(hit: Mapping[str, Any], encoder: Encoder) -> Floats:
    if encoder.sparse:
        # A passage without weights has no field.
        return weights.row_of(hit.get("fields", {"vector": [{}]})["vector"][0], encoder.dimension)
    return np.array(hit["fields"]["vector"][0], np.float32)


def inner_product(score: float) -> float:
    """Return the inner product of two vectors from Elasticsearch's score, which is never negative.

    >>> [inner_product(score) for score in (3.0, 1.0, 0.5)]
    [2.0, 0.0, -1.0]
    """
    return score - 1 if score >= 1 else 1 - 1 / score


def _body(query: Any, k: int, **more: Any) -> bytes:
    fields = {} if more else {"docvalue_fields": ["pid"]}
    return orjson.dumps({"size": asked(k), **_BARE, **fields, **more, "query": query})


def _filter(accepted: Filter | None) -> dict[str, Any]:
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


def fetch(reader: Reader, ids: Ids) -> list[Passage | None]:
    """Return the committed passages with these ids, None for unknown ones."""
    keys = [document_id(id) for id in ids]
    sources = reader.documents(list(dict.fromkeys(key for key in keys if key)))
    return [passage(sources[key], reader) if key in sources else None for key in keys]


def passage(source: Mapping[str, Any], reader: Reader) -> Passage:
    """Return the passage of a document. :raises StoreDamaged: for a document that convqa did not write."""
    try:
        return Passage.from_json(source["passage"])
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"index {reader.name} at {reader.target.http} has a malformed document ({error!r}). Index its passages "
            "again with --replace."
        ) from error
