"""Rewrites questions with one of Haystack's chat generators: a hosted model, or a server of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.chat import UNREADABLE, ChatStation, Reply, fallback_note, plain
from convqa.components.members import member
from convqa.components.rewriters._prompts import chat
from convqa.components.rewriters._rewrites import from_json, questions_with_history, settled
from convqa.domain import Rewrite, Turn
from convqa.files import replace_surrogates
from convqa.text.dialogue import open_question


@member
class LlmRewriter(ChatStation, Rewriter):
    """Rewrite the question with the language model of a server.

    The prompt is one message with the quoted history and three examples; the reply must be ``{"question": "..."}``. If
    the request times out or fails, if the reply is malformed, or if its question fails the checks of
    ``convqa.components.rewriters._rewrites``, the turn keeps its question, and a run's summary counts the reason. An
    unavailable server (also 429, 502, 503, 504) is retried as a store is. Timeouts, retries and sampling are parameters
    of the component (``timeout``, ``max_retries``, ``generation_kwargs``).

    Example::

        generator = OpenAIChatGenerator(model="gpt-4o-mini")
        rewriter = LlmRewriter(component=generator, fallback="edit")

    :param weight: weight of the text's new words, which are terms of the question, relative to a word of the question.
    :param fallback: another rewriter, used if the model's text is rejected.
    """

    weight: Annotated[float, Field(gt=0, le=10)] = 0.5

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        rewrites = [Rewrite.unchanged(open_question(turn)) for turn in turns]
        pending = [question for question in questions_with_history(turns) if question.text.strip()]
        prompts = {question.row: chat(question.history, question.text) for question in pending}
        # Lone surrogates cannot be sent.
        messages = {prompt: [ChatMessage.from_user(replace_surrogates(prompt))] for prompt in prompts.values()}
        answered = self._asked(messages)
        replies = {index: answered[prompt] for index, prompt in prompts.items()}
        for question in pending:
            text, doubt = _question(replies[question.row])
            rewrites[question.row] = settled(
                question,
                text,
                doubt,
                self.weight,
                "llm",
            )
        if self._fallback:
            self._complete(turns, rewrites, replies)
        return rewrites

    def _complete(
        self,
        turns: Sequence[Turn],
        rewrites: list[Rewrite],
        replies: Mapping[int, Reply],
    ) -> None:
        """Replace the rewrites without a text of the model by those of the fallback."""
        rejected = [index for index in replies if rewrites[index].notes]
        others = self._fallback.rewrite_batch([turns[index] for index in rejected])
        for index, other in zip(rejected, others, strict=True):
            notes = [*other.notes, *rewrites[index].notes]
            doubt = replies[index].doubt
            if doubt:
                notes.append(fallback_note(plain(doubt), "The question was completed without it."))
            rewrites[index] = replace(other, notes=tuple(notes))


def _question(reply: Reply) -> Reply:
    if reply.doubt:
        return reply
    question = from_json(reply.text)
    return Reply(doubt=UNREADABLE) if question is None else Reply(question)
