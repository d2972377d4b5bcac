"""Functions on rankings: fusing, reordering, and attaching passages to hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from convqa.domain import Hit, Passage, Ranking

Fetch = Callable[[Sequence[str]], Sequence[Passage | None]]
Fusion = Callable[[Sequence[tuple[float, Ranking]], int], Ranking]

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


def fuse(parts: Sequence[tuple[float, Ranking]], top_k: int) -> Ranking:
    """Reciprocal rank fusion: score = sum of weight / (60 + rank), rank counted from 1.

    >>> a, b = Ranking((Hit("x", 9.0), Hit("y", 1.0))), Ranking((Hit("y", 5.0),))
    >>> [hit.id for hit in fuse([(1.0, a), (1.0, b)], 2).hits]
    ['y', 'x']
    """
    values = [[weight / (RRF_K + rank) for rank, _ in enumerate(ranking.hits, 1)] for weight, ranking in parts]
    return _summed([ranking for _, ranking in parts], values, top_k)


def interpolate(parts: Sequence[tuple[float, Ranking]], top_k: int) -> Ranking:
    """Interpolate: score = sum of weight x score, normalized in each ranking from 0, the last hit, to 1, the first.

    A passage that is missing in a ranking gets 0 from it. (Bruch et al., "An Analysis of Fusion Functions for Hybrid
    Retrieval", TOIS 2023.)

    >>> a, b = Ranking((Hit("x", 9.0), Hit("y", 8.0), Hit("z", 5.0))), Ranking((Hit("y", 0.5), Hit("z", 0.1)))
    >>> [(hit.id, hit.score) for hit in interpolate([(1.0, a), (1.0, b)], 2).hits]
    [('y', 1.75), ('x', 1.0)]
    """
    values = [[weight * score for score in normalized(ranking)] for weight, ranking in parts]
    return _summed([ranking for _, ranking in parts], values, top_k)


FUSIONS: Mapping[str, Fusion] = {"rrf": fuse, "interpolation": interpolate}
"""Fusion functions by name."""


def _summed(
    rankings: Sequence[Ranking],
    values: Sequence[Sequence[float]],
    top_k: int,
) -> Ranking:
    """Return the ranking by the sums of each hit's values; ``values[i]`` belongs to ``rankings[i]``."""
    scores: dict[str, float] = {}
    passages: dict[str, Passage | None] = {}
    for ranking, row in zip(rankings, values, strict=True):
        for hit, value in zip(ranking.hits, row, strict=True):
            scores[hit.id] = scores.get(hit.id, 0.0) + value
            passages[hit.id] = passages.get(hit.id) or hit.passage
    ranked = Ranking.of([Hit(id, score, passages[id]) for id, score in scores.items()])
    return Ranking(ranked.hits[:top_k])


def normalized(ranking: Ranking) -> list[float]:
    """Return the scores normalized from 0, the last, to 1, the first; 1 if all are equal.

    >>> normalized(Ranking((Hit("x", 9.0), Hit("y", 8.0), Hit("z", 5.0))))
    [1.0, 0.75, 0.0]
    """
    scores = [hit.score for hit in ranking.hits]
    low = min(scores, default=0.0)
    width = max(scores, default=0.0) - low
    if not width:
        return [1.0] * len(scores)
    return [(score - low) / width for score in scores]


def behind(ranking: Ranking, rest: Sequence[Hit]) -> Ranking:
    """Append hits that are not in a ranking, in their order."""
    lowest = ranking.hits[-1].score if ranking.hits else 0.0
    # In 32 bits, a large number minus one is the same number.
    step = max(1.0, abs(lowest) * 2**-20)
    lower = [Hit(hit.id, lowest - step * rank, hit.passage) for rank, hit in enumerate(rest, 1)]
    return Ranking((*ranking.hits, *lower))


def reordered(
    ranking: Ranking,
    scores: Mapping[str, float],
    weight: float = 1.0,
    top_k: int | None = None,
) -> Ranking:
    """Reorder a ranking by new scores. Hits without one follow in their order.

    :param weight: weight of the new scores; below 1, (1 - weight) x the old score is added, both normalized to 0 to 1.

    >>> found = Ranking((Hit("x", 9.0), Hit("y", 8.0), Hit("z", 5.0)))
    >>> [hit.id for hit in reordered(found, {"x": 0.1, "y": 0.7}).hits]
    ['y', 'x', 'z']
    """
    if not scores:
        return Ranking(ranking.hits[:top_k])
    scored = [hit for hit in ranking.hits if hit.id in scores]
    ordered = Ranking.of([replace(hit, score=scores[hit.id]) for hit in scored])
    if weight < 1:
        ordered = interpolate([(weight, ordered), (1 - weight, Ranking(tuple(scored)))], len(scored))
    rest = [hit for hit in ranking.hits if hit.id not in scores]
    return Ranking(behind(ordered, rest).hits[:top_k])


def attach(
    rankings: Sequence[Ranking],
    count: int,
    fetch: Fetch,
) -> list[Ranking]:
    """Return the rankings with the passages of the first ``count`` hits. Missing passages are fetched together."""
    wanted = [hit.id for ranking in rankings for hit in ranking.hits[:count] if hit.passage is None]
    missing = list(dict.fromkeys(wanted))
    if not missing:
        return list(rankings)
    fetched = dict(zip(missing, fetch(missing), strict=True))
    filled = []
    for ranking in rankings:
        hits = [replace(hit, passage=hit.passage or fetched.get(hit.id)) for hit in ranking.hits[:count]]
        filled.append(Ranking((*hits, *ranking.hits[count:])))
    return filled
