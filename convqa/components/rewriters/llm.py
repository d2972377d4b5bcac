"""Rewrites questions with one of Haystack's chat generators: a hosted model, or a server of your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.chat import UNREADABLE, Asking, Reply, fallback_note, plain
from convqa.components.history import said_before
from convqa.components.members import member
from convqa.components.rewriters._prompts import chat
from convqa.components.rewriters._rewrites import from_json, settled
from convqa.domain import Rewrite, Turn
from convqa.files import replace_surrogates
from convqa.text.dialogue import open_question


@member
class Llm(Asking, Rewriter):
    """Rewrite the question with the language model of a server.

    The prompt is one message with the quoted history and three examples; the reply must be ``{"question": "..."}``. If
    the request times out or fails, if the reply is malformed, or if its question fails the checks of
    ``convqa.components.rewriters._rewrites``, the turn keeps its question, and a run's summary counts the reason. An
    unavailable server (also 429, 502, 503, 504) is retried as a store is. Timeouts, retries and sampling are parameters
    of the component (``timeout``, ``max_retries``, ``generation_kwargs``).

    :param weight: weight of the text's new words, which are terms of the question, relative to a word of the question.
    :param otherwise: a fallback rewriter, used if the model's text is rejected.
    """

    weight: Annotated[float, Field(gt=0, le=10)] = 0.5

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        histories = [said_before(turn) for turn in turns]
        questions = [open_question(turn) for turn in turns]
        prompts = [
            chat(history, question) if history and question.strip() else ""
            for history, question in zip(histories, questions, strict=True)
        ]
        # Lone surrogates cannot be sent.
        replies = self._asked(
            {prompt: [ChatMessage.from_user(replace_surrogates(prompt))] for prompt in prompts if prompt}
        )
        rewritten = [
            settled(*_question(replies[prompt]), question, history, turn.language, self.weight, "llm")
            if prompt
            else Rewrite.unchanged(question)
            for turn, history, question, prompt in zip(turns, histories, questions, prompts, strict=True)
        ]
        if self._other:
            left = [index for index, rewrite in enumerate(rewritten) if prompts[index] and rewrite.notes]
            others = self._other.rewrite_batch([turns[index] for index in left])
            for index, other in zip(left, others, strict=True):
                doubt = replies[prompts[index]].doubt
                caveat = [fallback_note(plain(doubt), "The question was completed without it.")] if doubt else []
                rewritten[index] = replace(other, notes=(*other.notes, *rewritten[index].notes, *caveat))
        return rewritten


def _question(reply: Reply) -> Reply:
    if reply.doubt:
        return reply
    question = from_json(reply.text)
    return Reply(doubt=UNREADABLE) if question is None else Reply(question)
