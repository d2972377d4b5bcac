"""Filters on passages: reading one, combining a turn's with the node's, and grouping turns by filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from convqa.domain import MetaValue, Passage, Ranking, Turn
from convqa.errors import InputError
from convqa.stores.base import Filter, Store
from convqa.stores.content import meta_term, meta_terms, terms_of
from convqa.validation import shorten

_MAX_SCANNED = 10_000
"""Passages among which the field of a filter is searched."""


def filter_of(given: object) -> Filter:
    """Return the filter of a mapping from meta fields to one accepted value or several; ``None`` accepts everything.

    >>> filter_of({"set": "wiki", "year": [2001, 2002]})
    {'set': ('wiki',), 'year': (2001, 2002)}

    :raises InputError: if the filter is malformed.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InputError(f"filter: expected a mapping such as {{'set': 'wiki'}}, got {shorten(given)}.")
    accepted = {}
    for name, values in given.items():
        if not isinstance(values, list | tuple | set | frozenset):
            values = [values]
        for value in values:
            if not isinstance(value, MetaValue):
                raise InputError(f"filter: {name}: expected a text, a number, true or false, got {shorten(value)}.")
        accepted[name] = tuple(values)
    return accepted


def both(one: Filter, other: Filter) -> Filter:
    """Return the filter that accepts the passages that both accept.

    >>> both({"set": ("wiki", "law"), "year": (2001,)}, {"set": ("law", "shop")})
    {'set': ('law',), 'year': (2001,)}
    """
    joined = {**one, **other}
    for name in one.keys() & other.keys():
        accepted = {meta_term(name, value) for value in other[name]}
        joined[name] = tuple(value for value in one[name] if meta_term(name, value) in accepted)
    return joined


def passes(passage: Passage, filter: Filter) -> bool:
    """Return whether a passage passes a filter, as in a search.

    >>> passes(Passage("p", "", meta={"year": 2001}), {"year": (2001.0, 2002)})
    True
    >>> passes(Passage("p", ""), {"year": (2001,)})
    False
    """
    terms = set(terms_of(passage.meta))
    return all(terms.intersection(group) for group in meta_terms(filter))


def by_filter(
    turns: Sequence[Turn], search: Callable[[list[int], Filter], Sequence[Ranking]], store: Store
) -> list[Ranking]:
    """Return one ranking for each turn. Turns with the same filter are searched together.

    :param search: returns the rankings of the turns with these indexes, which share the filter.
    :raises InputError: for a filter by a field that no passage has.
    """
    groups: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for index, turn in enumerate(turns):
        groups.setdefault(meta_terms(turn.filter), []).append(index)
    rankings = [Ranking()] * len(turns)
    for indexes in groups.values():
        shared = turns[indexes[0]].filter
        found = search(indexes, shared)
        if shared and not any(ranking.hits for ranking in found):
            _refuse_unknown_fields(shared, store)
        for index, ranking in zip(indexes, found, strict=True):
            rankings[index] = ranking
    return rankings


def _refuse_unknown_fields(filter: Filter, store: Store) -> None:
    """Refuse a filter by a field that the first passages lack, which is more likely misspelt than met by none."""
    known: set[str] = set()
    for passage in islice(store.scan(), _MAX_SCANNED):
        known |= passage.meta.keys()
        if known >= filter.keys():
            return
    unknown = ", ".join(sorted(filter.keys() - known))
    raise InputError(f"filter: no passage has the field {unknown}; expected one of {', '.join(sorted(known))}.")
