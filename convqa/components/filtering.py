"""Filters on passages: combine a turn's own with the node's, and group turns by filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from convqa.domain import Ranking, Turn
from convqa.stores.base import Filter
from convqa.stores.content import meta_term, meta_terms


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
