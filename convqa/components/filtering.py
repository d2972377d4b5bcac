"""Filters on passages: read one, combine a turn's own with the node's, group turns by filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from convqa.domain import MetaValue, Ranking, Turn
from convqa.errors import InputError
from convqa.stores.base import Filter
from convqa.stores.content import meta_term, meta_terms
from convqa.validation import shorten


def filter_of(given: object) -> Filter:
    """The filter that a caller wrote: meta field -> one accepted value or several; ``None`` lets everything through.

    >>> filter_of({"set": "wiki", "year": [2001, 2002]})
    {'set': ('wiki',), 'year': (2001, 2002)}

    :raises InputError: for what is no such mapping.
    """
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(name, str) for name in given)):
        raise InputError(f"filter: found {shorten(given)}; wanted a mapping such as {{'set': 'wiki'}}.")
    accepted = {}
    for name, values in (given or {}).items():
        accepted[name] = tuple(values) if isinstance(values, list | tuple | set | frozenset) else (values,)
        if wrong := [value for value in accepted[name] if not isinstance(value, MetaValue)]:
            raise InputError(f"filter: {name}: found {shorten(wrong[0])}; wanted a text, a number, true or false.")
    return accepted


def both(one: Filter, other: Filter) -> Filter:
    """The filter that lets through what both do.

    >>> both({"set": ("wiki", "law"), "year": (2001,)}, {"set": ("law", "shop")})
    {'set': ('law',), 'year': (2001,)}
    """
    joined = {**one, **other}
    for name in one.keys() & other.keys():
        accepted = {meta_term(name, value) for value in other[name]}
        joined[name] = tuple(value for value in one[name] if meta_term(name, value) in accepted)
    return joined


def by_filter(turns: Sequence[Turn], search: Callable[[list[int], Filter], Sequence[Ranking]]) -> list[Ranking]:
    """One ranking for each turn, where those of turns with the same filter are searched together.

    :param search: gives the rankings of the turns at some places, which all have the filter.
    """
    groups: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for place, turn in enumerate(turns):
        groups.setdefault(meta_terms(turn.filter), []).append(place)
    rankings = [Ranking()] * len(turns)
    for places in groups.values():
        for place, ranking in zip(places, search(places, turns[places[0]].filter), strict=True):
            rankings[place] = ranking
    return rankings
