"""Conversion of Haystack's documents to passages and rankings, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any

from haystack import Document

from convqa.components.filtering import both, filter_of
from convqa.components.rankings import RRF_K
from convqa.domain import Hit, MetaValue, Passage, Ranking
from convqa.errors import InputError
from convqa.files import replace_surrogates
from convqa.stores.base import Filter
from convqa.validation import shorten


def to_document(hit: Hit) -> Document:
    """Return a hit with its passage as a document, with title and URL in ``meta``."""
    passage = hit.passage
    assert passage is not None
    names = {name: value for name, value in (("title", passage.title), ("url", passage.url)) if value}
    return Document(
        id=passage.id,
        content=passage.text,
        meta={**passage.meta, **names},
        score=hit.score,
    )


def to_passage(document: Document) -> Passage | None:
    """Return a document as a passage, or None without text. Values of ``meta`` that no filter compares are omitted."""
    if document.content is None:
        return None
    meta = {name: value for name, value in document.meta.items() if _is_plain(value)}
    title, url = (str(meta.pop(name, "")) for name in ("title", "url"))
    return Passage(document.id, *replace_surrogates([document.content, title, url, meta]))


def ranked(hits: Iterable[Hit], scored: bool) -> Ranking:
    """Return the ranking of a component's hits, in its order and without duplicate ids.

    Scores are kept if all hits are ``scored`` and the scores descend. Otherwise rank r scores 1 / (60 + r).

    :raises NotFinite: for a score that is NaN or infinite.
    """
    by_id: dict[str, Hit] = {}
    for hit in hits:
        by_id.setdefault(hit.id, hit)
    unique = list(by_id.values())
    if not scored or any(above.score < below.score for above, below in pairwise(unique)):
        unique = [Hit(hit.id, 1 / (RRF_K + rank), hit.passage) for rank, hit in enumerate(unique, 1)]
    return Ranking.of(unique)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, MetaValue) and _is_plain(item) for item in value)
    return isinstance(value, MetaValue) and not (isinstance(value, float) and not math.isfinite(value))


def filter_of_conditions(conditions: Mapping[str, Any] | None) -> Filter:
    """Return the filter of a filter in Haystack's form, of the operators ==, in and AND.

    >>> year = {"field": "meta.year", "operator": "in", "value": [2001, 2002]}
    >>> filter_of_conditions({"operator": "AND", "conditions": [year]})
    {'year': (2001, 2002)}

    :raises InputError: for another operator, or a malformed filter.
    """
    match conditions:
        case None:
            return {}
        case {"operator": "AND", "conditions": [*parts]}:
            return reduce(both, map(filter_of_conditions, parts), {})
        case {"field": str(field), "operator": "==", "value": value} if not isinstance(value, list):
            return filter_of({field.removeprefix("meta."): value})
        case {"field": str(field), "operator": "in", "value": [*values]}:
            return filter_of({field.removeprefix("meta."): values})
    raise InputError(
        f"filters: expected conditions in Haystack's form with the operators ==, in and AND, got {shorten(conditions)}."
    )
