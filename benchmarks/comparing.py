"""Scores of the same turns beside each other: means, differences with intervals and shares of a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from convqa.metrics.bootstrap import interval

SEED = 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the ends of its 95 % bootstrap interval (turns are drawn)."""

    mean: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """As a difference; one that is certain is bold."""
        text = f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
        return f"**{text}**" if self.certain else text


def estimate(scores: Sequence[float]) -> Estimate:
    return Estimate(mean(scores), *interval([scores], SEED))


def difference(scores: Sequence[float], others: Sequence[float]) -> Estimate:
    """Paired: the mean of each turn's own difference.

    >>> difference([1.0, 0.5], [0.5, 0.0])
    Estimate(mean=0.5, low=0.5, high=0.5)
    """
    return estimate([one - other for one, other in zip(scores, others, strict=True)])


def share(score: float, low: float, high: float) -> float:
    """How much of the way from ``low`` to ``high`` a score goes.

    >>> share(0.7, low=0.6, high=0.8)
    0.5
    """
    return round((score - low) / (high - low), 9)
