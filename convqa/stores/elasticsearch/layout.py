"""Where an index that others filled keeps its passages, and how it scores them: from its mapping and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError, StoreDamaged, nearest
from convqa.stores.address import Fields
from convqa.stores.elasticsearch.search import inner_product

_HAYSTACK = Fields(text="content")
_NOT_META = frozenset({"content", "id", "blob", "embedding", "sparse_embedding", "score", "dataframe"})
"""Of a document of Haystack's; its other fields are meta."""

_KEYWORDS = frozenset({"keyword", "constant_keyword", "wildcard"})
_NUMBERS = frozenset(
    {"byte", "short", "integer", "long", "unsigned_long", "half_float", "float", "double", "scaled_float"}
)
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class TextField:
    """A field of words. ``k1`` and ``b`` are None where it is not scored by BM25."""

    name: str
    analyzer: str
    k1: float | None
    b: float | None

    def match(self, text: str, weight: float) -> dict[str, Any]:
        """Elasticsearch's BM25 has the old factor k1 + 1, which is divided out here."""
        boost = weight if self.k1 is None else weight / (self.k1 + 1)
        return {"match": {self.name: {"query": text, "boost": boost}}}


@dataclass(frozen=True, slots=True)
class VectorField:
    """A field of vectors: their length, how two are compared, and how they are shortened ("" = not)."""

    name: str
    dimension: int
    similarity: str
    precision: str

    def product(self, score: float) -> float:
        """The inner product of two vectors from the server's score; of ``l2_norm`` and ``cosine`` at length 1."""
        if self.similarity == "max_inner_product":
            return inner_product(score)
        return 1.5 - 0.5 / score if self.similarity == "l2_norm" else 2 * score - 1


class Layout:
    """The fields of a passage: ``text``, and ``title`` and ``vector`` where there are any.

    :param fields: None for an index of Haystack's. An id "" or "_id" is the document's ``_id``.
    :param index: what the server says of it. :param place: the index, as messages name it.
    :param vector: the field of its vectors, "" for none.
    :raises InputError: for a field that the index lacks, or an index whose fields are not told.
    """

    def __init__(self, fields: Fields | None, index: Mapping[str, Any], place: str, vector: str = "") -> None:
        self._place = place
        self._mapped = flat(index.get("mappings", {}).get("properties", {}))
        self._settings: Mapping[str, Any] = index["settings"]["index"]
        if fields is None and self._mapped.get("content", {}).get("type") != "text":
            raise InputError(
                f"collection {place} was not made by convqa, nor by Haystack: which of its fields are a passage's? "
                "Name them in a file FILE.yaml with url and fields (text, id, title, url, meta) and give "
                f"--collection FILE.yaml. Its fields: {self._listed()}."
            )
        # None: all meta that Haystack's documents have.
        self._meta = None if fields is None else fields.meta
        fields = fields or _HAYSTACK
        for name in filter(None, (fields.url, *fields.meta)):
            self._known(name)
        self._url = fields.url
        self.id = "" if fields.id == "_id" else fields.id
        if self.id:
            self._exact(self.id)
        self.text = self._text(fields.text)
        self.title = self._text(fields.title) if fields.title else None
        self.vector = self._vector(vector) if vector else None

    def match(self, text: str, weight: float, title_weight: float | None) -> list[dict[str, Any]]:
        """The clauses that score a text; ``title_weight`` None is 1."""
        clauses = [self.text.match(text, weight)]
        if self.title is not None and title_weight != 0:
            clauses.append(self.title.match(text, weight * (1.0 if title_weight is None else title_weight)))
        return clauses

    def filter(self, name: str, accepted: Sequence[MetaValue]) -> dict[str, Any]:
        """The clause for a meta field that equals one of the values. A value of another type equals none."""
        if self._meta is not None and name not in self._meta:
            raise InputError(f"collection {self._place} has no meta field {name!r}." + nearest(name, self._meta))
        field, kind = self._exact(name)
        return {"terms": {field: [value for value in accepted if _fits(value, kind)]}}

    def with_ids(self, ids: Sequence[str]) -> dict[str, Any]:
        """The query for the documents with these ids, which stand in a field."""
        field, kind = self._exact(self.id)
        return {"terms": {field: [id for id in ids if kind in _KEYWORDS or _NUMBER.fullmatch(id)]}}

    def id_of(self, key: str, source: Mapping[str, Any]) -> str:
        """The id of a document's passage; a document without one is damage. ``key``: its ``_id``."""
        id = _string(value(source, self.id)) if self.id else key
        if not id:
            raise StoreDamaged(f"document {key!r} has no value in the field {self.id!r}, which names passages.")
        return id

    def passage(self, key: str, source: Mapping[str, Any]) -> Passage:
        """A document as a passage. :raises StoreDamaged: for a document without id."""
        title = _string(value(source, self.title.name)) if self.title else ""
        url = _string(value(source, self._url)) if self._url else ""
        names = [name for name in source if name not in _NOT_META] if self._meta is None else self._meta
        found = {name: value(source, name) for name in names}
        meta = {name: one for name, one in found.items() if isinstance(one, str | int | float | bool)}
        return Passage(self.id_of(key, source), _string(value(source, self.text.name)), title, url, meta)

    def _text(self, name: str) -> TextField:
        field = self._known(name)
        if field["type"] != "text":
            raise InputError(
                f"collection {self._place}: the field {name!r} has the type {field['type']}; wanted: text, which can "
                "be searched by words."
            )
        default = "default" if "default" in self._settings.get("analysis", {}).get("analyzer", {}) else "standard"
        analyzer = field.get("search_analyzer") or field.get("analyzer") or default
        named = field.get("similarity", "default")
        similarity = self._settings.get("similarity", {}).get(named) or {
            "type": "BM25" if named == "default" else named
        }
        if similarity.get("type", "BM25") != "BM25":
            return TextField(name, analyzer, None, None)
        # Elasticsearch's defaults.
        return TextField(name, analyzer, float(similarity.get("k1", 1.2)), float(similarity.get("b", 0.75)))

    def _vector(self, name: str) -> VectorField:
        field = self._known(name)
        kind = field.get("element_type", "float")
        if field["type"] != "dense_vector" or field.get("index") is False or not kind.endswith("float"):
            raise InputError(
                f"collection {self._place}: the field {name!r} ({field['type']}, {kind}) cannot be searched; "
                "wanted: an indexed dense_vector of floats."
            )
        if "dims" not in field:
            raise InputError(f"collection {self._place}: no document has a vector in the field {name!r}.")
        precision = field.get("index_options", {}).get("type", "").partition("_")[0]
        return VectorField(name, int(field["dims"]), field.get("similarity", "cosine"), precision)

    def _known(self, name: str) -> Mapping[str, Any]:
        if name not in self._mapped:
            raise InputError(
                f"collection {self._place} has no field {name!r}; its fields: {self._listed()}."
                + nearest(name, self._mapped)
            )
        return self._mapped[name]

    def _exact(self, name: str) -> tuple[str, str]:
        """The field that has a field's values as they are, and its type."""
        field = self._known(name)
        for candidate in (name, *(f"{name}.{inner}" for inner in field.get("fields", {}))):
            kind = str(self._mapped[candidate]["type"])
            if kind in _KEYWORDS | _NUMBERS | {"boolean"}:
                return candidate, kind
        raise InputError(
            f"collection {self._place}: the field {name!r} ({field['type']}) is not indexed in a way that finds its "
            "values as they are; wanted: keyword, a number or boolean."
        )

    def _listed(self) -> str:
        return ", ".join(sorted(self._mapped)[:20]) or "none"


def flat(properties: Mapping[str, Any], prefix: str = "") -> dict[str, Mapping[str, Any]]:
    """The fields of a mapping, inner and extra ones too.

    >>> flat({"a": {"properties": {"b": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}}})
    {'a.b': {'type': 'text', 'fields': {'raw': {'type': 'keyword'}}}, 'a.b.raw': {'type': 'keyword'}}
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name, mapping in properties.items():
        if "type" in mapping and mapping["type"] != "object":
            found[prefix + name] = mapping
        for inner in ("fields", "properties"):
            found |= flat(mapping.get(inner, {}), f"{prefix}{name}.")
    return found


def value(source: Any, name: str) -> Any:
    """A field of a document; names with dots go into objects, where no field has the whole name."""
    if not isinstance(source, Mapping):
        return None
    if name in source:
        return source[name]
    head, _, rest = name.partition(".")
    return value(source.get(head), rest) if rest else None


def _string(found: Any) -> str:
    if isinstance(found, list):
        return "\n".join(map(_string, found))
    return "" if found is None else str(found)


def _fits(value: MetaValue, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return kind in (_KEYWORDS if isinstance(value, str) else _NUMBERS)
