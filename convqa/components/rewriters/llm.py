"""Rewrites questions with one of Haystack's chat generators: a hosted model, or a server of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.chat import UNREADABLE, ChatStation, Reply, fallback_note, plain
from convqa.components.history import OpenQuestion, questions_with_history
from convqa.components.members import member
from convqa.components.prompts import conversation, quoted
from convqa.components.rewriters._rewrites import from_json, guessed_answer, rewritten
from convqa.domain import Query, Rewrite, Turn
from convqa.text.dialogue import open_question, stands_alone

ASKS_NOTHING = "llm: nothing was asked"


@member
class LlmRewriter(ChatStation, Rewriter):
    """Rewrite the question with the language model of a server.

    The prompt has the quoted history, and the reply is ``{"query": "..."}``, or ``{"query": null}`` for what asks
    nothing of the collection, such as thanks: nothing is searched then. JSON is found anywhere in the reply, and a
    single line counts as the query. First questions, and those that refer to nothing before, are not sent, unless the
    user has said something about themselves. A reply with an ``"answer"`` too, as some prompts of the literature ask
    for, is searched with this text as a second query. If the
    request times out or fails, or the reply is malformed, the turn keeps its question, and a run's summary counts the
    reason. An unavailable server (also 429, 502, 503, 504) is retried as a store is. Timeouts, retries and sampling are
    parameters of the component (``timeout``, ``max_retries``, ``generation_kwargs``).

    Example::

        generator = OpenAIChatGenerator(model="gpt-4o-mini")
        rewriter = LlmRewriter(component=generator, fallback="edit")

    :param history: number of earlier exchanges in the prompt.
    :param weight: weight of the text's new words, which are terms of the question, relative to a word of the question.
    :param fallback: another rewriter, used if the model gives no query.
    """

    prompt: str = "rewrite"
    history: Annotated[int, Field(ge=1, le=50)] = 20
    weight: Annotated[float, Field(gt=0, le=10)] = 0.5

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        rewrites = [Rewrite.unchanged(open_question(turn)) for turn in turns]
        pending = [
            question
            for question in questions_with_history(turns, or_statements=True)
            if question.text.strip() and (turns[question.row].statements or not stands_alone(turns[question.row]))
        ]
        rows = [question.row for question in pending]
        replies = self._asked({row: self._template.messages(self._texts(turns[row])) for row in rows})
        for question in pending:
            rewrites[question.row] = self._rewrite(question, replies[question.row])
        if self._fallback:
            self._complete(turns, rewrites, replies)
        return rewrites

    def _texts(self, turn: Turn) -> dict[str, str]:
        return {
            "conversation": conversation(turn, self.history, self._template.speaker),
            "question": quoted(turn.question),
            "language": turn.language,
        }

    def _rewrite(self, question: OpenQuestion, reply: Reply) -> Rewrite:
        query = None if reply.doubt else from_json(reply.text)
        if query is None:
            rewrite = Rewrite.unchanged(question.text, f"llm: {reply.doubt or UNREADABLE}")
        elif not query:
            rewrite = Rewrite(question.text, (), (ASKS_NOTHING,))
        else:
            rewrite = rewritten(question, query, self.weight)
            guess = guessed_answer(reply.text)
            if guess:
                rewrite = replace(rewrite, queries=(*rewrite.queries, Query(guess, weight=self.weight)))
        return replace(rewrite, usage=reply.usage)

    def _complete(
        self,
        turns: Sequence[Turn],
        rewrites: list[Rewrite],
        replies: Mapping[int, Reply],
    ) -> None:
        """Replace the rewrites without a query of the model by those of the fallback."""
        rejected = [row for row in replies if rewrites[row].notes and rewrites[row].queries]
        others = self._fallback.rewrite_batch([turns[row] for row in rejected])
        for row, other in zip(rejected, others, strict=True):
            notes = [*other.notes, *rewrites[row].notes]
            doubt = replies[row].doubt
            if doubt:
                notes.append(fallback_note(plain(doubt), "The question was completed without it."))
            rewrites[row] = replace(
                other,
                notes=tuple(notes),
                usage=replies[row].usage,
            )
