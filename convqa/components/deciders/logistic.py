"""Decides by a logistic of a few signals, read from a YAML file (docs/reference/answers.md)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from convqa.components.base import Decider
from convqa.components.citations import nothing
from convqa.components.deciders._decision import Threshold, cosine, load_decision, signals
from convqa.components.encoding import ModelOptions, QueryEncoder, fitted_for
from convqa.components.members import member
from convqa.domain import UNAIDED, UNSURE, Answer, Ranking, Reading, Rewrite, Turn
from convqa.errors import InputError
from convqa.models import TextEncoder
from convqa.text.support import IDENTITY as LEXICAL_SUPPORT

logger = logging.getLogger(__name__)

_BY_WORDS = "sentences"

REFUSED = "the passages found do not seem to answer the question"


@member
class Logistic(Decider):
    """Score how well the passages answer the question, and refuse answers below a threshold.

    Questions of the system are never refused.

    :param decision: the name of a file in ``configs/decisions``, or the path of a YAML file. None: answers are
        returned unchanged, without a score.
    :param threshold: minimum score; None = the decision's own, 0 = nothing is refused.
    :param encoder: the encoder for the signal ``cosine``: the reader's, so that nothing is encoded twice. None = the
        signal counts as its mean. With an encoder, turns without a cosine, as in a language that it does not know, are
        returned unchanged. If the decision was fitted to another encoder, ``sentences`` decides, by words alone, with a
        warning. :param options: its ``device`` and ``precision``.
    :param generated: whether to decide on generated answers too. If not, they are returned unchanged, but not the
        answers of a fallback.
    """

    decision: str | None = None
    threshold: Threshold | None = None
    encoder: Annotated[str, Field(min_length=1)] | None = None
    options: ModelOptions | None = None
    generated: bool = True

    def __post_init__(self) -> None:
        if self.decision is None and self.threshold:
            raise InputError(
                f"threshold: {self.threshold} needs a decision, whose score it limits. Add one: "
                "--set decider.decision=sentences."
            )
        self._decision = None if self.decision is None else load_decision(self.decision)
        self._queries = None if self.encoder is None else QueryEncoder(self.encoder, self.options)

    def warm_up(self) -> None:
        """Decide by words where the decision was not fitted to the encoder's cosines."""
        if self._queries is None or self._decision is None:
            return
        if fitted_for(self._queries.model, self._decision.encoder):
            return
        logger.warning(
            "the decision %r was not fitted to cosines of the encoder %r: %r, which looks at words alone, decides. "
            "Leave decider.encoder out to do so without this warning", self.decision, self._queries.name, _BY_WORDS,
        )  # fmt: skip
        self._queries, self._decision = None, load_decision(_BY_WORDS)

    def models(self) -> Mapping[str, TextEncoder]:
        return {} if self._queries is None else {"encoder": self._queries.model}

    def identity(self) -> Mapping[str, str]:
        if self._decision is None:
            return {}
        support = {} if self.threshold == 0 else {"decision's support": LEXICAL_SUPPORT}
        return {**Decider.identity(self), "decision": self._decision.identity, **support}

    def decide(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None, answer: Answer) -> Answer:
        if not self.generated and UNAIDED not in answer.notes:
            return answer
        near = None if self._queries is None else cosine(self._queries, turn, rewrite, ranking, reading)
        if self._decision is None or (self._queries is not None and near is None and ranking.hits):
            return answer if answer.score is None else replace(answer, score=None)
        values = {**signals(turn, rewrite, ranking, reading), "cosine": near}
        score = self._decision.score(values, ranking, answer, turn.language)
        threshold = self._decision.threshold if self.threshold is None else self.threshold
        if answer.kind == "answer" and score < threshold:
            return replace(nothing(ranking, REFUSED, score), notes=answer.notes)
        doubted = answer.kind == "answer" and score < self._decision.sure
        return replace(answer, score=score, notes=(*answer.notes, UNSURE) if doubted else answer.notes)
