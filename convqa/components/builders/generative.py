"""Builds an answer that a language model writes, and keeps only sentences that the passages support."""

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
from convqa.components.chat import Asking, Reply, plain, told
from convqa.components.citations import nothing
from convqa.components.encoding import ModelOptions
from convqa.components.members import member
from convqa.domain import CAVEAT, UNAIDED, Answer, Failure, Ranking, Reading, Rewrite, Turn
from convqa.errors import InputError
from convqa.models import Options, Support, load_support
from convqa.models.kinds.support import LEXICAL
from convqa.text.dialogue import open_question
from convqa.text.facts import asks_for_fact
from convqa.text.support import IDENTITY as QUOTES

_DECLINED = "no answer found"


@member
class Generative(Asking, Builder):
    """Ask a language model to answer from the best passages, and hold each of its sentences to what it cites.

    The passages are shown as quoted data, numbered; the model is to end each sentence with the numbers of those that
    say it. A citation points at the sentence of the passage that fits best. What no passage supports is left out, or
    said without a citation; where nothing is left, there is no answer, with the reason. Counted in a run's summary are
    sentences that were not supported, citations that had to be found or moved, and replies that were none.

    A request that comes to nothing is a failure of its turn. Servers that are away, keys, time limits, retries and
    sampling are as with the rewriter ``llm``.

    :param passages: how many of the best passages with a text the model is shown.
    :param longest: characters of each passage that it is shown: whole sentences, around what the reader found.
    :param history: exchanges before the question that it is shown.
    :param sentences: how many sentences an answer has at most. None = as the question asks: three for a fact, else
        five, and of steps or several things a list of up to twelve.
    :param support: who says whether a passage supports a sentence: "lexical", "support", or a model's name.
    :param unsupported: "drop" = such a sentence is left out; "mark" = it is said, and is the one without a citation.
    :param options: ``device``, ``precision`` and ``engine`` of that model.
    :param otherwise: another builder. It answers, with a note that says why, where the model gives no answer or no
        sentence of its answer is supported. Where the model says that the passages do not answer, there is no answer.
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
        """The models that check the support and find the quotes, not to be measured with as well, and the server."""
        return {**Asking.identity(self), "support": self._support.identity, "quotes": QUOTES}

    def build_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking], readings: MaybeReadings
    ) -> Sequence[Answer | Failure]:
        prompts = [self._prompt(*row) for row in zip(turns, rewrites, rankings, readings, strict=True)]
        languages = {turn.language for turn, one in zip(turns, prompts, strict=True) if isinstance(one, Prompt)}
        scorers = {language: self._scorer(language) for language in sorted(languages)}
        replies = self._asked({_key(one): _messages(one) for one in prompts if isinstance(one, Prompt)})
        made = [
            self._answer(replies[_key(prompt)], prompt, turn, ranking, scorers[turn.language])
            if isinstance(prompt, Prompt)
            else nothing(ranking, prompt)
            for turn, ranking, prompt in zip(turns, rankings, prompts, strict=True)
        ]
        if self._other:
            reasons = {place: reason for place, one in enumerate(made) if (reason := _why_otherwise(one))}
            columns = ([column[place] for place in reasons] for column in (turns, rewrites, rankings, readings))
            others = self._other.build_batch(*columns) if reasons else []
            for (place, reason), other in zip(reasons.items(), others, strict=True):
                notes = UNAIDED, told(reason, "Only the passages were asked.")
                made[place] = replace(other, notes=(*other.notes, *notes)) if isinstance(other, Answer) else other
        return made

    def _prompt(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Prompt | str:
        """The prompt for a turn, or the reason why the model is not asked."""
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
        """:raises InputError: where a language cannot be checked, before anything is asked that would be paid for."""
        if self.support == LEXICAL:
            return worded
        score = self._support.score
        try:
            score([("probe", "probe")], language)
        except InputError as error:
            raise InputError(
                f"builder.support: {self.support} cannot check sentences of these turns: {error} Take a model of "
                f"entailment, or {LEXICAL}, which compares words as they stand there."
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


def _why_otherwise(made: Answer | Failure) -> str:
    """The reason to take the other builder's answer; "" where the model answered, said that there is none, or was not
    asked."""
    if isinstance(made, Failure):
        return made.message
    return made.reason if made.kind == "none" and made.notes and f"generative: {_DECLINED}" not in made.notes else ""


def _key(prompt: Prompt) -> str:
    return json.dumps([prompt.system, prompt.user])


def _messages(prompt: Prompt) -> list[ChatMessage]:
    return [ChatMessage.from_system(prompt.system), ChatMessage.from_user(prompt.user)]


def _noted(answer: Answer, notes: Sequence[str]) -> Answer:
    caveat = [f"{CAVEAT}What no passage supports is left out of the list."] if ITEM_LEFT_OUT in notes else []
    return replace(answer, notes=(*(f"generative: {note}" for note in notes), *caveat))
