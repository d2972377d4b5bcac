"""Where an index that others filled keeps its passages, and how it scores them: from its mapping and settings."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError, StoreDamaged, nearest
from convqa.stores.address import Fields

_K1, _B = 1.2, 0.75
"""Elasticsearch's defaults."""

_NOT_META = frozenset({"content", "id", "blob", "embedding", "sparse_embedding", "score", "dataframe"})
"""Of a document of Haystack's; its other fields are meta."""

_WHOLE = {
    **dict.fromkeys(("byte", "short", "integer"), (-(2**31), 2**31 - 1)),
    "long": (-(2**63), 2**63 - 1),
    "unsigned_long": (0, 2**64 - 1),
}
_LARGEST = {"half_float": 65_504.0, "float": 3.4e38, "double": sys.float_info.max, "scaled_float": sys.float_info.max}
_NUMBERS = {**_WHOLE, **{kind: (-largest, largest) for kind, largest in _LARGEST.items()}}
"""What may be searched for in a field of numbers; the server refuses a whole search for one beyond."""

_INTEGER = re.compile(r"-?\d{1,20}", re.ASCII)
_DECIMAL = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_KEYWORDS = frozenset({"keyword", "constant_keyword", "wildcard"})

Mapped = Mapping[str, Mapping[str, Any]]
"""Field -> its mapping; the names of inner fields have dots."""


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
class Layout:
    """The fields of a passage. ``id`` None: the document's ``_id``. ``meta`` None: all that Haystack's are."""

    text: TextField
    title: TextField | None
    url: str
    id: str | None
    id_indexed: str
    meta: tuple[str, ...] | None
    mapped: Mapped

    @classmethod
    def of(cls, fields: Fields | None, mapping: Mapping[str, Any], settings: Mapping[str, Any], place: str) -> Layout:
        """:raises InputError: for a field that the index lacks, or an index whose fields are not told."""
        mapped = flat(mapping.get("properties", {}))
        if fields is None:
            if mapped.get("content", {}).get("type") != "text":
                raise InputError(
                    f"collection {place} was not made by convqa, nor by Haystack: which of its fields are a passage's? "
                    "Name them in a file FILE.yaml with url and fields (text, id, title, url, meta) and give "
                    f"--collection FILE.yaml. Its fields: {_listed(mapped)}."
                )
            return cls(_text("content", mapped, settings, place), None, "", None, "", None, mapped)
        for name in filter(None, (fields.url, *fields.meta)):
            _known(name, mapped, place)
        return cls(
            text=_text(fields.text, mapped, settings, place),
            title=_text(fields.title, mapped, settings, place) if fields.title else None,
            url=fields.url,
            id=fields.id if fields.id not in {"", "_id"} else None,
            id_indexed=_exact(fields.id, mapped, place) if fields.id not in {"", "_id"} else "",
            meta=fields.meta,
            mapped=mapped,
        )

    @property
    def ids(self) -> dict[str, Any]:
        """What a search asks for, to name its hits."""
        return {"_source": False} if self.id is None else {"_source": False, "fields": [self.id]}

    def id_of(self, hit: Mapping[str, Any]) -> str:
        """:raises StoreDamaged: for a document without id."""
        if self.id is None:
            return str(hit["_id"])
        values = hit.get("fields", {}).get(self.id)
        if not values:
            raise StoreDamaged(f"document {hit['_id']!r} has no value in the field {self.id!r}, which names passages.")
        return str(values[0])

    def match(self, text: str, weight: float, title_weight: float | None) -> list[dict[str, Any]]:
        """The clauses that score a text; ``title_weight`` None is 1."""
        clauses = [self.text.match(text, weight)]
        if self.title is not None and title_weight != 0:
            clauses.append(self.title.match(text, weight * (1.0 if title_weight is None else title_weight)))
        return clauses

    def filter(self, name: str, accepted: Sequence[MetaValue], place: str) -> dict[str, Any]:
        """The clause for a meta field that equals one of the values. A value of another type equals none.

        :raises InputError: for a field that is not indexed as it is.
        """
        if self.meta is not None and name not in self.meta:
            raise InputError(f"collection {place} has no meta field {name!r}." + nearest(name, self.meta))
        field = _exact(name, self.mapped, place)
        kind = self.mapped[field]["type"]
        return {"terms": {field: [value for value in accepted if _fits(value, kind)]}}

    def with_ids(self, ids: Sequence[str]) -> dict[str, Any]:
        """The query for the documents with these ids, which stand in a field."""
        kind = self.mapped[self.id_indexed]["type"]
        return {"terms": {self.id_indexed: [id for id in ids if kind not in _NUMBERS or _is_number(id, kind)]}}

    def passage(self, key: str, source: Mapping[str, Any], id: str | None = None) -> Passage:
        """A document as a passage. ``key``: its ``_id``. ``id``: what it must be called, where that is known.

        :raises StoreDamaged: for a document without id.
        """
        if id is None:
            id = key if self.id is None else _string(value(source, self.id))
        if not id:
            raise StoreDamaged(f"document {key!r} has no value in the field {self.id!r}, which names passages.")
        title = _string(value(source, self.title.name)) if self.title else ""
        url = _string(value(source, self.url)) if self.url else ""
        return Passage(id, _string(value(source, self.text.name)), title, url, self._meta(source))

    def _meta(self, source: Mapping[str, Any]) -> dict[str, MetaValue]:
        names = [name for name in source if name not in _NOT_META] if self.meta is None else self.meta
        found = {name: value(source, name) for name in names}
        return {name: one for name, one in found.items() if isinstance(one, str | int | float | bool)}


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


def _text(name: str, mapped: Mapped, settings: Mapping[str, Any], place: str) -> TextField:
    field = _known(name, mapped, place)
    if field["type"] not in {"text", "match_only_text"}:
        raise InputError(
            f"collection {place}: the field {name!r} has the type {field['type']}; wanted: text, which can be searched "
            "by words."
        )
    analyzer = field.get("search_analyzer") or field.get("analyzer") or _default_analyzer(settings)
    similarity = _similarity(field, settings)
    if similarity.get("type", "BM25") != "BM25":
        return TextField(name, analyzer, None, None)
    return TextField(name, analyzer, float(similarity.get("k1", _K1)), float(similarity.get("b", _B)))


def _similarity(field: Mapping[str, Any], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    if field["type"] == "match_only_text":
        # It keeps no frequencies, and every match counts the same.
        return {"type": "constant"}
    named = field.get("similarity", "default")
    found: Mapping[str, Any] = settings.get("similarity", {}).get(named, {})
    return found or {"type": "BM25" if named in {"default", "BM25"} else named}


def _default_analyzer(settings: Mapping[str, Any]) -> str:
    return "default" if "default" in settings.get("analysis", {}).get("analyzer", {}) else "standard"


def _known(name: str, mapped: Mapped, place: str) -> Mapping[str, Any]:
    if name not in mapped:
        raise InputError(
            f"collection {place} has no field {name!r}; its fields: {_listed(mapped)}." + nearest(name, mapped)
        )
    return mapped[name]


def _exact(name: str, mapped: Mapped, place: str) -> str:
    """The field that has a field's values as they are."""
    field = _known(name, mapped, place)
    names = [name, *(f"{name}.{inner}" for inner in field.get("fields", {}))]
    for candidate in names:
        kind, indexed = mapped[candidate]["type"], mapped[candidate].get("index", True)
        if indexed and (kind in _KEYWORDS or kind in _NUMBERS or kind == "boolean"):
            return candidate
    raise InputError(
        f"collection {place}: the field {name!r} ({field['type']}) is not indexed in a way that finds its values as "
        "they are; wanted: keyword, a number or boolean."
    )


def _fits(value: MetaValue, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return kind in _KEYWORDS if isinstance(value, str) else _holds(value, kind)


def _holds(value: float, kind: str) -> bool:
    return kind in _NUMBERS and _NUMBERS[kind][0] <= value <= _NUMBERS[kind][1]


def _is_number(text: str, kind: str) -> bool:
    """Whether a text is a number as the server reads it, of those that a field can hold."""
    if kind in _WHOLE:
        return _INTEGER.fullmatch(text) is not None and _holds(int(text), kind)
    return _DECIMAL.fullmatch(text) is not None and _holds(float(text), kind)


def _listed(mapped: Mapped) -> str:
    return ", ".join(sorted(mapped)[:20]) or "none"
