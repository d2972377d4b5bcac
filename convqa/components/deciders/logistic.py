"""Decides by a logistic of a few signals, read from a YAML file (docs/answers.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from convqa.components.base import Decider
from convqa.components.citations import nothing
from convqa.components.deciders._decision import Threshold, load_decision
from convqa.components.members import member
from convqa.domain import Answer, Ranking, Reading, Rewrite, Turn
from convqa.errors import InputError
from convqa.text.support import IDENTITY as LEXICAL_SUPPORT


@member
class Logistic(Decider):
    """Give each answer a score of how well the passages answer the question, and refuse those below a threshold.

    A question back is never refused.

    :param decision: a file of ``configs/decisions`` by its name, or the path of a YAML file. None: every answer is
        returned as it is, without a score.
    :param threshold: of the score, below which nothing is said; None = the decision's own, 0 = nothing is refused.
    """

    decision: str | None = None
    threshold: Threshold | None = None

    def __post_init__(self) -> None:
        if self.decision is None and self.threshold:
            raise InputError(
                f"threshold: found {self.threshold}, and no decision whose score it could be a threshold of; name one: "
                "--set decider.decision=sentences."
            )
        self._decision = None if self.decision is None else load_decision(self.decision)

    def identity(self) -> Mapping[str, str]:
        if self._decision is None:
            return {}
        support = {} if self.threshold == 0 else {"decision's support": LEXICAL_SUPPORT}
        return {"decision": self._decision.identity, **support}

    def decide(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None, answer: Answer) -> Answer:
        if self._decision is None:
            return answer if answer.score is None else replace(answer, score=None)
        wanted = self._decision.threshold if self.threshold is None else self.threshold
        score = self._decision.score(turn, rewrite, ranking, reading, answer)
        if answer.kind == "answer" and score < wanted:
            reason = f"the passages found do not seem to answer the question: {score:.2f}, wanted {wanted:.2f}"
            return replace(nothing(ranking, reason, score), notes=answer.notes)
        return replace(answer, score=score)
