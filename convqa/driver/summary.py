"""The counts of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from convqa.domain import Failure, Response, TurnId


@dataclass(slots=True)
class RunSummary:
    """The counts of a run. ``timings``: seconds by node over all turns; ``seconds``: those of this process.

    ``given`` and ``own`` count the exchanges in histories. ``notes`` count the notes of rewriters and builders, such as
    why a model's text was rejected. ``run_file`` is None for a shard.
    """

    conversations: int = 0
    turns: int = 0
    resumed: int = 0
    given: int = 0
    own: int = 0
    unanswered: int = 0
    failures: list[tuple[TurnId, Failure]] = field(default_factory=list)
    timings: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    run_file: Path | None = None

    def counting(self, responses: Iterable[Response]) -> Iterator[Response]:
        """Yield the same responses and count them."""
        for response in responses:
            self.turns += 1
            self.timings.update(response.timings)
            for made in (response.rewrite, response.answer):
                if made is not None:
                    self.notes.update(made.notes)
            if response.error is not None:
                self.failures.append((response.id, response.error))
            elif response.answer is not None and not response.answer.text:
                self.unanswered += 1
            yield response

    def to_json(self) -> dict[str, Any]:
        """Return the entries of run.meta.json."""
        return {
            "counts": {
                "conversations": self.conversations,
                "turns": self.turns,
                "resumed": self.resumed,
                "unanswered": self.unanswered,
                "failed": len(self.failures),
                "exchanges_given": self.given,
                "exchanges_own": self.own,
            },
            "notes": dict(sorted(self.notes.items())),
            "timings": {name: round(seconds, 6) for name, seconds in sorted(self.timings.items())},
            "seconds": round(self.seconds, 3),
            "failures": [{"turn": id.to_json(), "failure": failure.to_json()} for id, failure in self.failures],
        }
