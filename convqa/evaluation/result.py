"""What an evaluation is made of: scores by turn, their means with intervals, and the same by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from convqa.domain import TurnId
from convqa.metrics.bootstrap import interval
from convqa.tasks.qrecc import Gold, Run


@dataclass(frozen=True, slots=True)
class Scores:
    """One measure: a score for each turn that it rests on."""

    ids: tuple[TurnId, ...]
    values: tuple[float, ...]

    def of(self, ids: frozenset[TurnId]) -> Scores:
        """The same, for some turns only."""
        rows = [row for row in zip(self.ids, self.values, strict=True) if row[0] in ids]
        return Scores(tuple(id for id, _ in rows), tuple(value for _, value in rows))


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean over ``turns`` turns, with the ends of its 95 % bootstrap interval (turns are drawn)."""

    mean: float
    low: float
    high: float
    turns: int

    @classmethod
    def of(cls, scores: Scores, seed: int) -> Summary:
        low, high = interval(scores.values, seed)
        return cls(sum(scores.values) / len(scores.values), low, high, len(scores.values))

    def to_json(self) -> dict[str, Any]:
        return {"mean": self.mean, "low": self.low, "high": self.high, "turns": self.turns}


Summaries = Mapping[str, Summary]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything known about a run.

    ``official`` names the measures of the official file in its order; ``skipped`` says why one of them has no value.
    ``breakdowns``: field -> group -> measure -> summary.
    """

    gold: Gold = field(repr=False)
    run: Run = field(repr=False)
    official: tuple[str, ...]
    scores: Mapping[str, Scores] = field(repr=False)
    summaries: Summaries
    skipped: Mapping[str, str]
    breakdowns: Mapping[str, Mapping[str, Summaries]]
    options: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the scores by turn: what ``--json`` prints."""
        return {
            "truth": str(self.gold.path),
            "run": str(self.run.path),
            "options": dict(self.options),
            "measures": _to_json(self.summaries),
            "skipped": dict(self.skipped),
            "breakdowns": {
                name: {group: _to_json(summaries) for group, summaries in groups.items()}
                for name, groups in self.breakdowns.items()
            },
        }


def _to_json(summaries: Summaries) -> dict[str, Any]:
    return {name: summary.to_json() for name, summary in summaries.items()}
