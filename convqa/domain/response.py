"""What a run is made of: everything made for one turn, or why it could not be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from convqa.domain.answer import Answer, Reading
from convqa.domain.conversation import Listed, TurnId
from convqa.domain.ranking import Hit, Ranking, Rewrite


@dataclass(frozen=True, slots=True)
class Failure(Listed):
    """Why one item of a batch has no value. Later stations pass it on."""

    stage: str
    error: str
    message: str


@dataclass(frozen=True, slots=True)
class Response:
    """Everything made for one turn; a part is None where the pipeline lacks the stage or the turn failed.

    ``timings`` are seconds by node: the turn's share of its batch.
    """

    id: TurnId
    rewrite: Rewrite | None = None
    ranking: Ranking | None = None
    reading: Reading | None = None
    answer: Answer | None = None
    timings: Mapping[str, float] = field(default_factory=dict, hash=False)
    error: Failure | None = None

    def trimmed(self) -> Response:
        """The same response, with ``Hit.passage`` only on hits that the answer cites: what a journal keeps."""
        if self.ranking is None:
            return self
        cited = self.answer.cited_ids() if self.answer else frozenset()
        hits = tuple(
            hit if hit.passage is None or hit.id in cited else Hit(hit.id, hit.score) for hit in self.ranking.hits
        )
        return replace(self, ranking=Ranking(hits))

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id.to_json(),
            "rewrite": None if self.rewrite is None else self.rewrite.to_json(),
            "ranking": None if self.ranking is None else self.ranking.to_json(),
            "reading": None if self.reading is None else self.reading.to_json(),
            "answer": None if self.answer is None else self.answer.to_json(),
            "timings": dict(self.timings),
            "error": None if self.error is None else self.error.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Response:
        return cls(
            TurnId.from_json(data["id"]),
            None if data["rewrite"] is None else Rewrite.from_json(data["rewrite"]),
            None if data["ranking"] is None else Ranking.from_json(data["ranking"]),
            None if data["reading"] is None else Reading.from_json(data["reading"]),
            None if data["answer"] is None else Answer.from_json(data["answer"]),
            data["timings"],
            None if data["error"] is None else Failure.from_json(data["error"]),
        )
