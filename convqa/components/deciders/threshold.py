"""Decides by how far the best span of the reading is above no answer."""

from __future__ import annotations

import math
from dataclasses import replace

from convqa.components.base import Decider
from convqa.components.checks import nothing
from convqa.components.members import member
from convqa.components.parameters import Name, Share
from convqa.domain import TOLD, UNAIDED, UNSURE, Answer, Ranking, Reading, Rewrite, Turn

REFUSED = "the passages found do not seem to answer the question"

_MAX_MARGIN = 50.0


@member
class Threshold(Decider):
    """Score how well the passages answer the question, and refuse answers below a threshold.

    The score is the sigmoid of the margin, which is the score of the reading's best span minus its null score; 0
    without spans. It is not a probability, and each reader has a range of its own (docs/reference/answers.md). A
    refused answer keeps its first sentence as ``withheld``. Questions of the system are never refused.

    Example::

        decider: {type: threshold, init_parameters: {min_score: 0.5, sure_score: 0.9}}

    :param min_score: answers below are refused; 0 = none is.
    :param sure_score: answers below are marked as unsure; 0 = none is.
    :param language: turns in other languages are returned unchanged, without a score. None = all are decided.
    :param decide_generated: whether to decide on generated answers too. If not, they are returned unchanged, but not
        the answers of a fallback.
    """

    min_score: Share = 0.0
    sure_score: Share = 0.0
    language: Name | None = None
    decide_generated: bool = True

    def decide(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
        answer: Answer,
    ) -> Answer:
        if not self.decide_generated and UNAIDED not in answer.notes:
            return answer
        if reading is None or self.language not in (None, turn.language):
            return replace(answer, score=None)
        if answer.kind == "talk":
            return answer
        score = _score(reading)
        if answer.kind != "answer" or score >= max(self.min_score, self.sure_score):
            return replace(answer, score=score)
        if score >= self.min_score:
            notes = [note for note in answer.notes if note != TOLD]
            return replace(answer, score=score, notes=(*notes, UNSURE))
        withheld = answer.sentences[0]
        return replace(
            nothing(ranking, REFUSED, score, reading),
            notes=answer.notes,
            withheld=withheld,
        )


def _score(reading: Reading) -> float:
    """Return the sigmoid of the margin of the best span.

    >>> _score(Reading((), 0.0))
    0.0
    """
    if not reading.spans:
        return 0.0
    margin = reading.spans[0].score - reading.null_score
    return 1 / (1 + math.exp(-max(-_MAX_MARGIN, min(_MAX_MARGIN, margin))))
