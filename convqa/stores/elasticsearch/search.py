"""Rankings from an index that convqa made: BM25 of our tokens, and nearest neighbours of vectors."""

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
"""Score and id of a passage. The server writes 32-bit floats, so that equal ones stay equal and order is kept."""

SPARE = 50
"""Hits that are asked for beyond the cut, so that those who tie at it are known."""

MOST_HITS = 10_000
"""Hits that an index gives by default (``index.max_result_window``)."""

_SCORED = ("hits.hits.fields", "hits.hits._score")
_SORTED = ("hits.hits.sort",)
_BARE = {"_source": False, "track_total_hits": False, "stored_fields": "_none_"}


_CANDIDATES = 400
_CANDIDATES_EACH = 4
_OVERSAMPLE = {"int8": 2.0, "int4": 3.0, "bit": 4.0, "bbq": 4.0}
"""By precision: the shortened vectors choose so many times more, the whole ones score."""

_VECTORS = 200
"""Vectors of one search: 1 MB of an answer at 384 dimensions."""


def search(
    reader: Reader, analyzer: Analyzer, k1: float, queries: Sequence[Query], k: int, params: SearchParams, texts: int
) -> list[Ranking]:
    """Rank the best ``k`` passages for each query by BM25 over the field ``tokens``; ties at the cut are settled by id.

    :raises InputError: for more hits than the server gives.
    :raises ValueError: for weights that are no finite numbers, negative, or too large.
    """
    wanted = [_query(query, analyzer, k1, params) for query in queries]
    return rankings(_best(reader, wanted, k), k, texts, lambda ids: fetch(reader, ids))


def _best(reader: Reader, queries: Sequence[dict[str, Any] | None], k: int) -> list[list[Scored]]:
    """The hits that may be among the best ``k`` of each query: none with the score 0, and all that tie at the cut."""
    bodies = [None if query is None or k < 1 else _body(query, k) for query in queries]
    found = [scored(answer) for answer in answers(reader, bodies, _SCORED)]
    # Where all hits from the cut to the last tie, others may tie too: then the server sorts by id as well. That takes
    # twice as long, so it is asked for these queries only.
    open_ends = [place for place, hits in enumerate(found) if len(hits) >= asked(k) and hits[k - 1][0] == hits[-1][0]]
    bodies = [_body(queries[place], k, sort=[{"_score": "desc"}, {"pid": "desc"}]) for place in open_ends]
    for place, answer in zip(open_ends, answers(reader, bodies, _SORTED), strict=True):
        found[place] = [(hit["sort"][0], hit["sort"][1]) for hit in answer["hits"]["hits"]]
    return [[hit for hit in hits if hit[0]] for hits in found]


def _query(query: Query, analyzer: Analyzer, k1: float, params: SearchParams) -> dict[str, Any] | None:
    """The server's query; None for one that finds nothing."""
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
    """Rank the best ``k`` of the passages that have vectors, for each row. ``neighbours``: of the index of vectors."""
    if k < 1:
        return [Ranking()] * len(matrix)
    bodies = []
    for row in matrix:
        knn = nearest("vector", row, k, precision) | _filter(filter)
        body = {"size": asked(k), **_BARE, "docvalue_fields": ["pid"], "knn": knn}
        bodies.append(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY))
    found = [scored(answer) for answer in neighbours.search(bodies, _SCORED)]
    found = [[(inner_product(score), id) for score, id in hits] for hits in found]
    return rankings(found, k, texts, lambda ids: fetch(passages, ids))


def search_weights(
    passages: Reader, neighbours: Reader, matrix: Floats, k: int, texts: int, filter: Filter | None
) -> list[Ranking]:
    """Rank the best ``k`` of the passages that share a weighted token with a row, by inner product."""
    queries = [{"bool": {"must": weights.query(row), **_filter(filter)}} for row in matrix]
    return rankings(_best(neighbours, queries, k), k, texts, lambda ids: fetch(passages, ids))


def nearest(field: str, row: Floats, k: int, precision: str) -> dict[str, Any]:
    """The search for the ``k`` nearest vectors of a field, scored by the whole vectors."""
    candidates = min(MOST_HITS, max(_CANDIDATES, _CANDIDATES_EACH * k))
    knn = {"field": field, "query_vector": row, "k": asked(k), "num_candidates": candidates}
    oversample = _OVERSAMPLE.get(precision)
    return {**knn, "rescore_vector": {"oversample": oversample}} if oversample else knn


def vectors(reader: Reader, ids: Ids, encoder: Encoder) -> list[Floats | None]:
    """The vectors of passages, out of an index of vectors; None where there is none.

    They are not in ``_source``, so that a script reads them: exactly, as 32-bit floats. Token weights are stored.
    """
    keys = [document_id(id) for id in ids]
    distinct = sorted({key for key in keys if key})
    script = {"script_fields": {"vector": {"script": "doc['vector'].vectorValue"}}}
    wanted = {"size": _VECTORS, "_source": False, **({"fields": ["vector"]} if encoder.sparse else script)}
    bodies = [orjson.dumps({**wanted, "query": {"ids": {"values": chunk}}}) for chunk in slices(distinct, _VECTORS)]
    found = {
        hit["_id"]: _vector(hit, encoder)
        for answer in reader.search(bodies, ("hits.hits._id", "hits.hits.fields"))
        for hit in answer.get("hits", {}).get("hits", ())
    }
    return [found.get(key) for key in keys]


def _vector(hit: Mapping[str, Any], encoder: Encoder) -> Floats:
    if encoder.sparse:
        # A passage without any weight has no field.
        return weights.row_of(hit.get("fields", {"vector": [{}]})["vector"][0], encoder.dimension)
    return np.array(hit["fields"]["vector"][0], np.float32)


def inner_product(score: float) -> float:
    """The product of two vectors from Elasticsearch's score, which it makes so that it is never negative.

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
    """How many hits a search asks for, to give ``k``; more than a server gives are refused."""
    if k > MOST_HITS:
        raise InputError(f"top_k {k}: Elasticsearch gives at most {MOST_HITS} hits; wanted: {MOST_HITS} or fewer.")
    return min(k + SPARE, MOST_HITS)


def scored(answer: Answer) -> list[Scored]:
    """The hits of an answer, in its order."""
    hits = answer.get("hits", {}).get("hits", [])
    return [(hit["_score"], hit["fields"]["pid"][0]) for hit in hits]


def answers(reader: Reader, bodies: Sequence[bytes | None], fields: Sequence[str]) -> list[Answer]:
    """The answers to searches; an empty one for None, a query that finds nothing."""
    found = iter(reader.search([body for body in bodies if body is not None], fields))
    return [{} if body is None else next(found) for body in bodies]


def rankings(
    found: Sequence[list[Scored]], k: int, texts: int, fetch: Callable[[Sequence[str]], Sequence[Passage | None]]
) -> list[Ranking]:
    """The best ``k`` hits of each; the first ``texts`` carry their passages, each of which is fetched once.

    Hits are made last: making them is most of a client's work.
    """
    best = [sorted(hits, reverse=True)[:k] for hits in found]
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
    """The passages with these ids, as they were committed; None where there is none."""
    keys = [document_id(id) for id in ids]
    found = reader.documents(list(dict.fromkeys(key for key in keys if key)))
    return [passage(found[key], reader) if key in found else None for key in keys]


def passage(source: Mapping[str, Any], reader: Reader) -> Passage:
    """:raises StoreDamaged: for a document that convqa did not write."""
    try:
        return Passage.from_json(source["passage"])
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"index {reader.name} at {reader.target.http} has a document that is no passage ({error!r}). Index its "
            "passages again with --replace."
        ) from error
