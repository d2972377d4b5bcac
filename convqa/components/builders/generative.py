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
from convqa.components.builders._grounding import ITEM_LEFT_OUT, Scorer, Unsupported, check, word_support
from convqa.components.builders._prompt import AnswerLimits, Prompt, make_prompt, passage_parts
from convqa.components.builders._reply import parse, without_cut_sentence
from convqa.components.chat import ChatStation, Reply, fallback_note, plain
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

_MAX_FACT_SENTENCES = 3
_MAX_SENTENCES = 5
_MAX_ITEMS = 12


@member
class Generative(ChatStation, Builder):
    """Generate an answer from the best passages and check each sentence against its citations.

    The prompt has the passages as numbered quotes, and asks for the numbers of supporting passages after each sentence.
    A citation points at the best sentence of its passage. Unsupported sentences are omitted, or kept without a
    citation. Without any sentence left, there is no answer. A run's summary counts unsupported sentences, added and
    moved citations, and empty replies.

    A failed request is a failure of its turn. Unavailable servers, keys, timeouts, retries and sampling are as in the
    rewriter ``llm``.

    Example::

        generator = OpenAIChatGenerator(model="gpt-4o-mini")
        builder = Generative(component=generator, max_passages=5, fallback="sentences")

    :param max_passages: how many of the best passages with a text are in the prompt.
    :param max_passage_chars: maximum characters of each passage in the prompt: whole sentences around the reader's
        span.
    :param history: number of earlier exchanges in the prompt.
    :param max_sentences: maximum number of sentences. None = three for a fact, five for other questions, and twelve
        items for lists.
    :param support: the support check: "lexical", "support", or the name of a model.
    :param unsupported: "drop" = omit unsupported sentences; "mark" = keep them without a citation.
    :param options: ``device`` and ``precision`` of the model in ``support``.
    :param fallback: another builder. It answers, with a note, if the model fails or none of its sentences is
        supported, but not if the model finds no answer in the passages.
    """

    max_passages: Annotated[int, Field(ge=1, le=50)] = 5
    max_passage_chars: Annotated[int, Field(ge=100, le=20_000)] = 1200
    history: Annotated[int, Field(ge=0, le=50)] = 3
    max_sentences: Annotated[int, Field(ge=1, le=20)] | None = None
    support: str = "lexical"
    unsupported: Unsupported = "drop"
    options: ModelOptions | None = None

    @cached_property
    def _support(self) -> Support:
        return load_support(self.support, Options(**(self.options or {})))

    def warm_up(self) -> None:
        ChatStation.warm_up(self)
        _ = self._support

    def identity(self) -> Mapping[str, str]:
        """Include the models that check support and choose quotes, which must not measure the results as well."""
        return {**ChatStation.identity(self), "support": self._support.identity, "quotes": QUOTES}

    def build_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        readings: MaybeReadings,
    ) -> Sequence[Answer | Failure]:
        answers: dict[int, Answer | Failure] = {}
        prompts: dict[int, Prompt] = {}
        for index, row in enumerate(zip(turns, rewrites, rankings, readings, strict=True)):
            prompt_or_reason = self._prompt(*row)
            if isinstance(prompt_or_reason, Prompt):
                prompts[index] = prompt_or_reason
            else:
                answers[index] = nothing(rankings[index], prompt_or_reason)
        languages = {turns[index].language for index in prompts}
        scorers = {language: self._scorer(language) for language in sorted(languages)}
        replies = self._asked({_key(prompt): _messages(prompt) for prompt in prompts.values()})
        for index, prompt in prompts.items():
            language = turns[index].language
            reply = replies[_key(prompt)]
            answers[index] = self._answer(
                reply,
                prompt,
                language,
                rankings[index],
                scorers[language],
            )
        if self._fallback:
            reasons = {index: _fallback_reason(answer) for index, answer in answers.items()}
            failed = [index for index, reason in sorted(reasons.items()) if reason]
            others = self._fallback.build_at(failed, (turns, rewrites, rankings, readings))
            for index, other in others.items():
                answers[index] = _as_fallback(other, reasons[index])
        return [answers[index] for index in range(len(turns))]

    def _prompt(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
    ) -> Prompt | str:
        """Return the prompt for a turn, or the reason not to ask."""
        if not open_question(turn).strip():
            return "there is no question"
        parts = passage_parts(
            ranking,
            reading,
            self.max_passages,
            self.max_passage_chars,
            turn.language,
        )
        if parts:
            return make_prompt(
                turn,
                rewrite,
                parts,
                self.history,
                self._limits(turn, rewrite),
            )
        if ranking.hits:
            return "no passage that was found has a text to quote"
        return "no passage was found"

    def _limits(self, turn: Turn, rewrite: Rewrite) -> AnswerLimits:
        if self.max_sentences is not None:
            return AnswerLimits(self.max_sentences, self.max_sentences)
        is_fact = asks_for_fact(rewrite.text, turn.language)
        return AnswerLimits(_MAX_FACT_SENTENCES if is_fact else _MAX_SENTENCES, _MAX_ITEMS)

    def _scorer(self, language: str) -> Scorer:
        """Return the support check. :raises InputError: for an unsupported language, before any request is paid."""
        if self.support == LEXICAL:
            return word_support
        score = self._support.score
        try:
            score([("probe", "probe")], language)
        except InputError as error:
            raise InputError(
                f"builder.support: {self.support} cannot check sentences of these turns: {error} Use an entailment "
                f"model, or {LEXICAL}, which compares surface words in this language."
            ) from error
        return score

    def _answer(
        self,
        reply: Reply,
        prompt: Prompt,
        language: str,
        ranking: Ranking,
        scorer: Scorer,
    ) -> Answer | Failure:
        if reply.doubt:
            return Failure(self.station, "NoReply", plain(reply.doubt))
        text, finish_reason = json.loads(reply.text)
        notes = []
        if finish_reason == "length":
            text = without_cut_sentence(text)
            notes.append("cut short")
        parsed = parse(text, len(prompt.passages), language)
        notes += ["number of no passage"] * parsed.unknown_numbers
        if finish_reason == "content_filter":
            return _no_answer(ranking, "the language model's filter stopped the reply", [*notes, "filtered"])
        if parsed.declined:
            return _no_answer(ranking, "the language model found no answer in the passages", [*notes, _DECLINED])
        if not parsed.sentences:
            return _no_answer(ranking, "the language model's reply is empty", [*notes, "empty"])
        checked = check(
            parsed.sentences,
            prompt.passages,
            scorer,
            language,
            self.unsupported,
            prompt.limits,
        )
        notes += checked.notes
        if not any(sentence.citations for sentence in checked.sentences):
            return _no_answer(ranking, "no passage supports what the language model said", [*notes, "nothing left"])
        return _with_notes(Answer.of(checked.sentences, language), notes)

    def _written(self, reply: ChatMessage) -> str:
        finish_reason = reply.meta.get("finish_reason") or ""
        return json.dumps([reply.text or "", str(finish_reason)])


def _fallback_reason(answer: Answer | Failure) -> str:
    """Return the reason to use the fallback; "" if the model answered, found no answer, or was not asked."""
    if isinstance(answer, Failure):
        return answer.message
    was_asked = bool(answer.notes)
    has_declined = f"generative: {_DECLINED}" in answer.notes
    return answer.reason if answer.kind == "none" and was_asked and not has_declined else ""


def _as_fallback(answer: Answer | Failure, reason: str) -> Answer | Failure:
    """Add to a fallback's answer why the model did not answer."""
    if isinstance(answer, Failure):
        return answer
    caveat = fallback_note(reason, "Only the passages were asked.")
    return replace(answer, notes=(*answer.notes, UNAIDED, caveat))


def _key(prompt: Prompt) -> str:
    return json.dumps([prompt.system, prompt.user])


def _messages(prompt: Prompt) -> list[ChatMessage]:
    return [ChatMessage.from_system(prompt.system), ChatMessage.from_user(prompt.user)]


def _no_answer(ranking: Ranking, reason: str, notes: Sequence[str]) -> Answer:
    return _with_notes(nothing(ranking, reason), notes)


def _with_notes(answer: Answer, notes: Sequence[str]) -> Answer:
    named = [f"generative: {note}" for note in notes]
    if ITEM_LEFT_OUT in notes:
        named.append(f"{CAVEAT}What no passage supports is left out of the list.")
    return replace(answer, notes=tuple(named))
