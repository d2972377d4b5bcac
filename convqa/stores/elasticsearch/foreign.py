"""Read-only access to indexes that other software filled, which are searched by their own analysis and scoring.

A file of ``configs/collections`` names the fields of a passage (``fields``).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from convqa.domain import DEFAULT_LANGUAGE, MetaField, MetaValue, Passage, Query, Ranking
from convqa.errors import InputError, WorkError, nearest
from convqa.files import replace_surrogates
from convqa.stores.address import Address
from convqa.stores.base import Encoder, Filter, Ids, Info, SearchParams, check_weights, refuse_encoder, refuse_unknown
from convqa.stores.content import checksum, digest
from convqa.stores.elasticsearch.index import ServerHit, ServerIndex, slices
from convqa.stores.elasticsearch.search import NOTHING, hits_asked, rankings
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.text.analysis import MOST_TOKENS, analyzer

logger = logging.getLogger(__name__)

_DOCUMENTS_PER_SEARCH = 200


class ForeignIndex:
    """See :class:`convqa.stores.base.Store`.

    The server analyzes words, after long stop words are dropped here. The score of a passage is the sum of the server's
    scores of text and title, over the words of the question and the weighted terms of the history.

    :param record: the server's record of the index.
    :param address: names the fields of a passage.
    :raises InputError: without names of fields, or for an unknown field.
    """

    closed = False

    def __init__(
        self,
        target: IndexTarget,
        name: str,
        record: Mapping[str, Any],
        address: Address,
    ) -> None:
        self._place = f"collection {target}"
        self._index = ServerIndex(target, name)
        self._mapped = flat(record.get("mappings", {}).get("properties", {}))
        if address.fields is None:
            raise InputError(
                f"{self._place} was not made by convqa: which of its fields are a passage's? Name them in a file "
                "FILE.yaml with url and fields (text, id, title, url, meta), as in configs/collections/haystack.yaml, "
                f"and give --collection FILE.yaml. Its fields: {self._listed()}."
            )
        fields = self._fields = address.fields
        self._searched = [field for field in (fields.title, fields.text) if field]
        for field in self._searched:
            self._require(field, "text")
        if fields.id:
            self._require(fields.id, "keyword")
        self._stored = [field for field in (fields.id, *self._searched, fields.url, *fields.meta) if field]
        for field in self._stored:
            self._known(field)
        language = address.language or DEFAULT_LANGUAGE
        self._analyzer = analyzer(language)
        self._info = Info(
            engine="elasticsearch",
            count=self._index.count(),
            language=language,
            analyzer="the index's own",
            fields=tuple(self._searched),
            checksum=state_of(target, name, record),
            capabilities=frozenset({"filter", "stopwords"}),
        )

    def info(self) -> Info:
        if self.closed:
            raise WorkError(f"{self._place} is closed")
        return self._info

    def check(self, params: SearchParams) -> None:
        """:raises InputError: also for a filter on a field that is not indexed."""
        refuse_unknown(params, self.info(), self._place)
        self._filter(params.filter)

    def search(
        self,
        queries: Sequence[Query],
        k: int,
        params: SearchParams,
        texts: int = 20,
    ) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. Ties at the cut are settled among the first k + 50.

        :raises ValueError: for weights that are not finite, negative, or too large.
        """
        self.check(params)
        options = {
            "size": hits_asked(k),
            "track_total_hits": False,
            "_source": False,
            "fields": [self._fields.id] if self._fields.id else [],
        }
        bodies = [{"query": self._query(query, params)} | options for query in queries]
        answers = self._index.search(bodies)
        matches = [[(hit["_score"], self._id_of(hit)) for hit in hits] for hits in answers]
        return rankings(matches, k, texts, self.fetch)

    def search_vectors(self, matrix: object, k: int, encoder: Encoder, *_: object, **__: object) -> NoReturn:  # noqa: ARG002
        """:raises InputError: always, because there are no vectors."""
        refuse_encoder(encoder, self.info(), self._place)
        raise AssertionError("a foreign index has no vectors here")

    def fetch(self, ids: Ids) -> list[Passage | None]:
        self.info()
        passage_of = {}
        for piece in slices(sorted({replace_surrogates(id) for id in ids}), _DOCUMENTS_PER_SEARCH):
            by_field = {"terms": {self._fields.id: piece}}
            body = {
                "size": len(piece),
                "query": by_field if self._fields.id else {"ids": {"values": piece}},
                "_source": False,
                "fields": self._stored,
            }
            for hit in self._index.search([body])[0]:
                passage_of[self._id_of(hit)] = self._passage(hit)
        return [passage_of.get(id) for id in ids]

    def scan(self) -> Iterator[Passage]:
        self.info()
        return map(self._passage, self._index.scan({"_source": False, "fields": self._stored}))

    def close(self) -> None:
        self.closed = True

    def _passage(self, hit: ServerHit) -> Passage:
        """Return the passage of a hit."""
        meta: dict[str, MetaField] = {}
        for name in self._fields.meta:
            values = hit.get("fields", {}).get(name, [])
            if values and all(isinstance(value, MetaValue) for value in values):
                meta[name] = values if len(values) > 1 else values[0]
        return Passage(
            self._id_of(hit),
            _joined(hit, self._fields.text),
            _joined(hit, self._fields.title),
            _joined(hit, self._fields.url),
            meta,
        )

    def _id_of(self, hit: ServerHit) -> str:
        """Return the id of a hit's passage: that of the document without a field of ids."""
        return _joined(hit, self._fields.id) or str(hit["_id"])

    def _query(self, query: Query, params: SearchParams) -> dict[str, Any]:
        parts = [(query.text, 1.0), *query.terms]
        check_weights((weight for _, weight in parts), query)
        weight_of: dict[str, float] = Counter()  # type: ignore[assignment]
        for text, weight in parts:
            for word in replace_surrogates(text).split():
                if weight and not (params.stopwords == "long" and self._is_stopword(word)):
                    weight_of[word] += weight
        heaviest = sorted(weight_of, key=lambda word: -weight_of[word])[: MOST_TOKENS // len(self._searched)]
        if len(weight_of) > len(heaviest):
            logger.warning("a query has %d distinct words: the heaviest %d are searched", len(weight_of), len(heaviest))
        clauses = []
        for word in heaviest:
            match = {"query": word, "boost": weight_of[word]}
            clauses += [{"match": {field: match}} for field in self._searched]
        if not clauses:
            return NOTHING
        return {
            "bool": {
                "should": clauses,
                "minimum_should_match": 1,
                "filter": self._filter(params.filter),
            }
        }

    def _is_stopword(self, word: str) -> bool:
        words = self._analyzer.words(word)
        return bool(words) and self._analyzer.long_stopwords.issuperset(words)

    def _filter(self, accepted: Filter | None) -> list[dict[str, Any]]:
        """Return the clauses for meta fields that equal one of their values."""
        clauses = []
        for name, values in (accepted or {}).items():
            if name not in self._fields.meta:
                raise InputError(f"{self._place} has no meta field {name!r}." + nearest(name, self._fields.meta))
            clauses.append({"terms": {self._exact(name): list(values)}})
        return clauses

    def _exact(self, name: str) -> str:
        """Return the field, or its inner field, with exact values."""
        for candidate in self._mapped:
            is_inner = candidate.startswith(f"{name}.")
            if (candidate == name or is_inner) and self._mapped[candidate]["type"] != "text":
                return candidate
        raise InputError(
            f"{self._place}: the field {name!r} is not indexed for exact values; expected keyword, a number or boolean."
        )

    def _require(self, name: str, expected: str) -> None:
        kind = self._known(name)["type"]
        if kind != expected:
            raise InputError(f"{self._place}: the field {name!r} has the type {kind}; expected {expected}.")

    def _known(self, name: str) -> Mapping[str, Any]:
        if name not in self._mapped:
            raise InputError(
                f"{self._place} has no field {name!r}; its fields: {self._listed()}." + nearest(name, self._mapped)
            )
        return self._mapped[name]

    def _listed(self) -> str:
        return ", ".join(sorted(self._mapped)[:20]) or "none"


def flat(properties: Mapping[str, Any], prefix: str = "") -> dict[str, Mapping[str, Any]]:
    """Return the fields of a mapping by their full names.

    >>> flat({"a": {"properties": {"b": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}}})
    {'a.b': {'type': 'text', 'fields': {'raw': {'type': 'keyword'}}}, 'a.b.raw': {'type': 'keyword'}}
    """
    fields: dict[str, Mapping[str, Any]] = {}
    for name, mapping in properties.items():
        if "type" in mapping and mapping["type"] != "object":
            fields[prefix + name] = mapping
        for inner in ("fields", "properties"):
            fields |= flat(mapping.get(inner, {}), f"{prefix}{name}.")
    return fields


def _joined(hit: ServerHit, name: str) -> str:
    """Return the values of a field as lines."""
    return "\n".join(map(str, hit.get("fields", {}).get(name, [])))


def state_of(target: IndexTarget, name: str, record: Mapping[str, Any]) -> str:
    """Return a checksum of a foreign index's state: its UUID and the number of its documents.

    Two indexes with the same passages have different checksums.
    """
    state = f"{record['settings']['index']['uuid']} {ServerIndex(target, name).count()}"
    return checksum(digest(state.encode()))
