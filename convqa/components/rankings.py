"""What several stations do with rankings: mixing scores, keeping what was left out, giving many their passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from convqa.components.base import fuse, with_passages
from convqa.domain import Hit, Passage, Ranking

Fetch = Callable[[Sequence[str]], Sequence[Passage | None]]
Fusion = Callable[[Sequence[tuple[float, Ranking]], int], Ranking]


def interpolate(parts: Sequence[tuple[float, Ranking]], top_k: int) -> Ranking:
    """Score = sum of weight x normalised score: each ranking's own from 0, its last hit, to 1, its first.

    A passage that a ranking lacks gets nothing from it. (Min-max normalisation and its linear combination: Bruch et
    al., "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023.)

    >>> a, b = Ranking((Hit("x", 9.0), Hit("y", 8.0), Hit("z", 5.0))), Ranking((Hit("y", 0.5), Hit("z", 0.1)))
    >>> [(hit.id, hit.score) for hit in interpolate([(1.0, a), (1.0, b)], 2).hits]
    [('y', 1.75), ('x', 1.0)]
    """
    scores: dict[str, float] = {}
    passages: dict[str, Passage | None] = {}
    for weight, ranking in parts:
        for hit, score in zip(ranking.hits, normalised(ranking), strict=True):
            scores[hit.id] = scores.get(hit.id, 0.0) + weight * score
            passages[hit.id] = passages.get(hit.id) or hit.passage
    ranked = Ranking.of([Hit(id, score, passages[id]) for id, score in scores.items()])
    return Ranking(ranked.hits[:top_k])


FUSIONS: Mapping[str, Fusion] = {"rrf": fuse, "interpolation": interpolate}
"""Ways to make one ranking of several."""


def normalised(ranking: Ranking) -> list[float]:
    """Scores from 0, the last, to 1, the first; 1 for all where all are equal.

    >>> normalised(Ranking((Hit("x", 9.0), Hit("y", 8.0), Hit("z", 5.0))))
    [1.0, 0.75, 0.0]
    """
    scores = [hit.score for hit in ranking.hits]
    low = min(scores, default=0.0)
    width = max(scores, default=0.0) - low
    return [(score - low) / width if width else 1.0 for score in scores]


def behind(ranking: Ranking, rest: Sequence[Hit]) -> Ranking:
    """A ranking and, behind it and in their order, hits that are not in it."""
    lowest = ranking.hits[-1].score if ranking.hits else 0.0
    # One less than a large number is the same number in 32 bits.
    step = max(1.0, abs(lowest) * 2**-20)
    return Ranking(
        (*ranking.hits, *(Hit(hit.id, lowest - step * place, hit.passage) for place, hit in enumerate(rest, 1)))
    )


def attach(rankings: Sequence[Ranking], count: int, fetch: Fetch) -> list[Ranking]:
    """The same rankings, the first ``count`` hits of each with their passages: what is missing is fetched at once."""
    missing = list(dict.fromkeys(hit.id for ranking in rankings for hit in ranking.hits[:count] if hit.passage is None))
    found = dict(zip(missing, fetch(missing), strict=True)) if missing else {}
    return [with_passages(ranking, count, lambda ids: [found[id] for id in ids]) for ranking in rankings]
