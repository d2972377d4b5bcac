"""The fields of a passage in a foreign index, and how it scores them, by its mapping and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError, StoreDamaged, nearest
from convqa.stores.address import Fields
from convqa.stores.elasticsearch.search import inner_product

_NOT_META = frozenset({"content", "id", "blob", "embedding", "sparse_embedding", "score", "dataframe"})
"""Fields of Haystack's documents that are not meta."""

_KEYWORDS = frozenset({"keyword", "constant_keyword", "wildcard"})
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class TextField:
    """A field of words. ``k1`` and ``b`` are None if it is not scored by BM25."""

    name: str
    analyzer: str
    k1: float | None
    b: float | None


@dataclass(frozen=True, slots=True)
class VectorField:
    """A field of vectors: their dimension, similarity and quantization ("" for none)."""

    name: str
    dimension: int
    similarity: str
    precision: str

    def product(self, score: float) -> float:
        """Return the inner product from the server's score; for ``cosine``, of vectors of length 1."""
        if self.similarity == "max_inner_product":
            return inner_product(score)
        return 2 * score - 1


class PassageFields:
    """The fields of a passage: ``text``, and optionally ``title`` and ``vector``.

    :param fields: None for an index of Haystack's. An id "" or "_id" is the document's ``_id``.
    :param index: the server's record of it. :param place: its name in messages.
    :param vector: the field of its vectors, "" for none.
    :raises InputError: for an unknown field, or an index whose fields are unknown.
    """

    def __init__(
        self,
        fields: Fields | None,
        index: Mapping[str, Any],
        place: str,
        vector: str = "",
    ) -> None:
        self._place = place
        properties = index.get("mappings", {}).get("properties", {})
        self._mapped = flat(properties)
        self._settings: Mapping[str, Any] = index["settings"]["index"]
        if fields is None:
            if self._mapped.get("content", {}).get("type") != "text":
                raise InputError(
                    f"collection {place} was made by neither convqa nor Haystack: which of its fields are a passage's? "
                    "Name them in a file FILE.yaml with url and fields (text, id, title, url, meta) and give "
                    f"--collection FILE.yaml. Its fields: {self._listed()}."
                )
            meta = [name for name in properties if name in self._mapped and name not in _NOT_META]
            fields = Fields(text="content", meta=meta)
        self._meta = fields.meta
        self._url = fields.url
        self.id = "" if fields.id == "_id" else fields.id
        if self.id:
            self._exact(self.id)
        self.text = self._text(fields.text)
        self.title = self._text(fields.title) if fields.title else None
        self.vector = self._vector(vector) if vector else None
        self.stored = [name for name in (self.id, fields.text, fields.title, fields.url, *fields.meta) if name]
        """The fields that a search returns for ``passage``."""
        for name in self.stored:
            self._known(name)

    def match(
        self,
        text: str,
        weight: float,
        title_weight: float | None,
    ) -> list[dict[str, Any]]:
        boosts = [(self.text, weight)]
        if self.title is not None and title_weight != 0:
            boosts.append((self.title, weight if title_weight is None else weight * title_weight))
        clauses = []
        for field, boost in boosts:
            # Elasticsearch's BM25 has the factor k1 + 1.
            factor = 1 if field.k1 is None else field.k1 + 1
            clauses.append({"match": {field.name: {"query": text, "boost": boost / factor}}})
        return clauses

    def filter(self, name: str, accepted: Sequence[MetaValue]) -> dict[str, Any]:
        """Return the clause for a meta field that equals one of the values, of the same type."""
        if name not in self._meta:
            raise InputError(f"collection {self._place} has no meta field {name!r}." + nearest(name, self._meta))
        field, kind = self._exact(name)
        return {"terms": {field: [value for value in accepted if _fits(value, kind)]}}

    def with_ids(self, ids: Sequence[str]) -> dict[str, Any]:
        """Return the query for documents with these passage ids."""
        if not self.id:
            return {"ids": {"values": ids}}
        field, kind = self._exact(self.id)
        if kind not in _KEYWORDS:
            ids = [id for id in ids if _NUMBER.fullmatch(id)]
        return {"terms": {field: ids}}

    def id_of(self, hit: Mapping[str, Any]) -> str:
        """Return the id of a hit's passage. :raises StoreDamaged: for a document without id."""
        id = _joined(hit, self.id) if self.id else str(hit["_id"])
        if not id:
            raise StoreDamaged(f"document {hit['_id']!r} has no value in the field {self.id!r}, which names passages.")
        return id

    def passage(self, hit: Mapping[str, Any]) -> Passage:
        """Return the passage of a hit. Meta fields with several values are left out."""
        meta = {}
        for name in self._meta:
            values = hit.get("fields", {}).get(name, [])
            if len(values) == 1 and isinstance(values[0], str | int | float | bool):
                meta[name] = values[0]
        title = _joined(hit, self.title.name) if self.title else ""
        return Passage(self.id_of(hit), _joined(hit, self.text.name), title, _joined(hit, self._url), meta)

    def _text(self, name: str) -> TextField:
        field = self._known(name)
        if field["type"] != "text":
            raise InputError(
                f"collection {self._place}: the field {name!r} has the type {field['type']}; expected text, which can "
                "be searched by words."
            )
        analyzer = field.get("search_analyzer") or field.get("analyzer", "default")
        named = field.get("similarity", "default")
        similarity = self._settings.get("similarity", {}).get(named, {"type": named})
        if similarity.get("type", "BM25") not in {"BM25", "default"}:
            return TextField(name, analyzer, None, None)
        # Elasticsearch's defaults.
        return TextField(name, analyzer, float(similarity.get("k1", 1.2)), float(similarity.get("b", 0.75)))

    def _vector(self, name: str) -> VectorField:
        field = self._known(name)
        kind = field.get("element_type", "float")
        similarity = field.get("similarity", "cosine")
        is_searched = "dims" in field and field.get("index") is not False and kind.endswith("float")
        if not is_searched or similarity == "l2_norm":
            raise InputError(
                f"collection {self._place}: the field {name!r} ({field['type']}, {kind}, {similarity}) cannot be "
                "searched; expected an indexed dense_vector of floats that compares by cosine, dot_product or "
                "max_inner_product, and a document with a vector."
            )
        precision = field.get("index_options", {}).get("type", "").partition("_")[0]
        return VectorField(name, int(field["dims"]), similarity, precision)

    def _known(self, name: str) -> Mapping[str, Any]:
        if name not in self._mapped:
            raise InputError(
                f"collection {self._place} has no field {name!r}; its fields: {self._listed()}."
                + nearest(name, self._mapped)
            )
        return self._mapped[name]

    def _exact(self, name: str) -> tuple[str, str]:
        """Return the field, or its inner field, with exact values, and its type."""
        field = self._known(name)
        inner_fields = [f"{name}.{inner}" for inner in field.get("fields", {})]
        for candidate in [name, *inner_fields]:
            kind = str(self._mapped[candidate]["type"])
            if kind != "text":
                return candidate, kind
        raise InputError(
            f"collection {self._place}: the field {name!r} ({field['type']}) is not indexed for exact values; expected "
            "keyword, a number or boolean."
        )

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


def _joined(hit: Mapping[str, Any], name: str) -> str:
    """Return the values of a field as lines."""
    return "\n".join(map(str, hit.get("fields", {}).get(name, [])))


def _fits(value: MetaValue, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, str):
        return kind in _KEYWORDS
    return kind != "boolean" and kind not in _KEYWORDS
