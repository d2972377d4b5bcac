"""Builds answers with a language model and keeps only sentences that the passages support."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated

from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.base import Builder, MaybeReadings
from convqa.components.builders._grounding import ITEM_LEFT_OUT, Scorer, Unsupported, check, worded
from convqa.components.builders._prompt import Most, Prompt, prompt, shown
from convqa.components.builders._reply import parse, unfinished
from convqa.components.chat import Asking, Reply, fallback_note, plain
from convqa.components.checks import nothing
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.domain import CAVEAT, UNAIDED, Answer, Failure, Ranking, Reading, Rewrite, Turn
from convqa.errors import InputError
from convqa.models import Options, Support, load_support
from convqa.models.kinds.heads import LEXICAL
from convqa.text.dialogue import open_question
from convqa.text.facts import asks_for_fact
from convqa.text.support import IDENTITY as QUOTES

_DECLINED = "no answer found"


@member
class Generative(Asking, Builder):
    """Generate an answer from the best passages and check each sentence against its citations.

    The prompt has the passages as numbered quotes, and asks for the numbers of supporting passages after each sentence.
    A citation points at the best sentence of its passage. Unsupported sentences are omitted, or kept without a
    citation. Without any sentence left, there is no answer. A run's summary counts unsupported sentences, added and
    moved citations, and empty replies.

    A failed request is a failure of its turn. Unavailable servers, keys, timeouts, retries and sampling are as in the
    rewriter ``llm``.

    :param passages: how many of the best passages with a text are in the prompt.
    :param longest: maximum characters of each passage in the prompt: whole sentences around the reader's span.
    :param history: number of earlier exchanges in the prompt.
    :param sentences: maximum number of sentences. None = three for a fact, five for other questions, and twelve items
        for lists.
    :param support: the support check: "lexical", "support", or the name of a model.
    :param unsupported: "drop" = omit unsupported sentences; "mark" = keep them without a citation.
    :param options: ``device`` and ``precision`` of the model in ``support``.
    :param otherwise: a fallback builder. It answers, with a note, if the model fails or none of its sentences is
        supported, but not if the model finds no answer in the passages.
    """

    passages: Annotated[int, Field(ge=1, le=50)] = 5
    longest: Annotated[int, Field(ge=100, le=20_000)] = 1200
    history: Annotated[int, Field(ge=0, le=50)] = 3
    sentences: Annotated[int, Field(ge=1, le=20)] | None = None
    support: str = "lexical"
    unsupported: Unsupported = "drop"
    options: ModelOptions | None = None

    @cached_property
    def _support(self) -> Support:
        return load_support(self.support, Options(**(self.options or {})))

    def warm_up(self) -> None:
        Asking.warm_up(self)
        _ = self._support

    def identity(self) -> Mapping[str, str]:
        """Include the models that check support and choose quotes, which must not measure the results as well."""
        return {**Asking.identity(self), "support": self._support.identity, "quotes": QUOTES}

    def build_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking], readings: MaybeReadings
    ) -> Sequence[Answer | Failure]:
        prompts = [self._prompt(*row) for row in zip(turns, rewrites, rankings, readings, strict=True)]
        languages = {turn.language for turn, one in zip(turns, prompts, strict=True) if isinstance(one, Prompt)}
        scorers = {language: self._scorer(language) for language in sorted(languages)}
        replies = self._asked({_key(one): _messages(one) for one in prompts if isinstance(one, Prompt)})
        answers = [
            self._answer(replies[_key(prompt)], prompt, turn, ranking, scorers[turn.language])
            if isinstance(prompt, Prompt)
            else nothing(ranking, prompt)
            for turn, ranking, prompt in zip(turns, rankings, prompts, strict=True)
        ]
        if self._other:
            reasons = {index: reason for index, answer in enumerate(answers) if (reason := _fallback_reason(answer))}
            others = self._other.build_at(list(reasons), (turns, rewrites, rankings, readings))
            for index, reason in reasons.items():
                other = others[index]
                notes = UNAIDED, fallback_note(reason, "Only the passages were asked.")
                answers[index] = replace(other, notes=(*other.notes, *notes)) if isinstance(other, Answer) else other
        return answers

    def _prompt(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Prompt | str:
        """Return the prompt for a turn, or the reason not to ask."""
        if not open_question(turn).strip():
            return "there is no question"
        passages = shown(ranking, reading, self.passages, self.longest, turn.language)
        if not passages:
            return "no passage that was found has a text to quote" if ranking.hits else "no passage was found"
        return prompt(turn, rewrite, passages, self.history, self._most(turn, rewrite))

    def _most(self, turn: Turn, rewrite: Rewrite) -> Most:
        if self.sentences is not None:
            return Most(self.sentences, self.sentences)
        return Most(3 if asks_for_fact(rewrite.text, turn.language) else 5, 12)

    def _scorer(self, language: str) -> Scorer:
        """Return the support check. :raises InputError: for an unsupported language, before any request is paid."""
        if self.support == LEXICAL:
            return worded
        score = self._support.score
        try:
            score([("probe", "probe")], language)
        except InputError as error:
            raise InputError(
                f"builder.support: {self.support} cannot check sentences of these turns: {error} Use an entailment "
                f"model, or {LEXICAL}, which compares surface words in this language."
            ) from error
        return score

    def _answer(self, reply: Reply, prompt: Prompt, turn: Turn, ranking: Ranking, scorer: Scorer) -> Answer | Failure:
        if reply.doubt:
            return Failure(self.station, "NoReply", plain(reply.doubt))
        text, finish = json.loads(reply.text)
        notes = ["cut short"] if finish == "length" else []
        parsed = parse(unfinished(text) if notes else text, len(prompt.passages), turn.language)
        notes += ["number of no passage"] * parsed.strange
        if finish == "content_filter":
            reason, note = "the language model's filter stopped the reply", "filtered"
        elif parsed.declined:
            reason, note = "the language model found no answer in the passages", _DECLINED
        elif not parsed.said:
            reason, note = "the language model's reply is empty", "empty"
        else:
            checked = check(parsed.said, prompt.passages, scorer, turn.language, self.unsupported, prompt.most)
            notes += checked.notes
            if any(sentence.citations for sentence in checked.sentences):
                return _noted(Answer.of(checked.sentences, turn.language), notes)
            reason, note = "no passage supports what the language model said", "nothing left"
        return _noted(nothing(ranking, reason), [*notes, note])

    def _written(self, reply: ChatMessage) -> str:
        return json.dumps([reply.text or "", str(reply.meta.get("finish_reason") or "")])


def _fallback_reason(answer: Answer | Failure) -> str:
    """Return the reason to use the fallback; "" if the model answered, found no answer, or was not asked."""
    if isinstance(answer, Failure):
        return answer.message
    failed = answer.kind == "none" and answer.notes and f"generative: {_DECLINED}" not in answer.notes
    return answer.reason if failed else ""


def _key(prompt: Prompt) -> str:
    return json.dumps([prompt.system, prompt.user])


def _messages(prompt: Prompt) -> list[ChatMessage]:
    return [ChatMessage.from_system(prompt.system), ChatMessage.from_user(prompt.user)]


def _noted(answer: Answer, notes: Sequence[str]) -> Answer:
    caveat = [f"{CAVEAT}What no passage supports is left out of the list."] if ITEM_LEFT_OUT in notes else []
    return replace(answer, notes=(*(f"generative: {note}" for note in notes), *caveat))
