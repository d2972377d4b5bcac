"""Compares scores of the same turns: means, differences with intervals and shares of a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from convqa.metrics.bootstrap import interval

SEED = 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % bootstrap interval over turns."""

    mean: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """Format a difference, bold if it is certain."""
        text = f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"
        return f"**{text}**" if self.certain else text


def estimate(scores: Sequence[float]) -> Estimate:
    return Estimate(mean(scores), *interval([scores], SEED))


def difference(scores: Sequence[float], others: Sequence[float]) -> Estimate:
    """Return the mean of the turns' differences.

    >>> difference([1.0, 0.5], [0.5, 0.0])
    Estimate(mean=0.5, low=0.5, high=0.5)
    """
    return estimate([one - other for one, other in zip(scores, others, strict=True)])


def share(score: float, low: float, high: float) -> float:
    """Return the share of the gap from ``low`` to ``high`` that a score closes.

    >>> share(0.7, low=0.6, high=0.8)
    0.5
    """
    return round((score - low) / (high - low), 9)
