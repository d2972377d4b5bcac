"""Answers yes/no questions by the rules in the best passage, or asks back about an open condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from convqa.components.base import Builder, MaybeReadings
from convqa.components.checks import nothing
from convqa.components.encoding import ModelOptions
from convqa.components.members import describe, make, member
from convqa.domain import (
    Answer,
    Citation,
    Failure,
    Passage,
    Ranking,
    Rewrite,
    Sentence,
    Turn,
)
from convqa.models import Options
from convqa.sharc.conditions import Condition
from convqa.sharc.judge import Conditions, load_conditions
from convqa.sharc.replies import (
    UserStatements,
    agreed,
    asking_sentences,
    user_statements,
)
from convqa.sharc.rules import Rule, rules
from convqa.sharc.verdict import (
    Fact,
    Verdict,
    alike,
    apply_rules,
    as_condition,
    fit,
    telling,
)
from convqa.text.dialogue import open_question
from convqa.text.facts import is_yes_no_question

_LANGUAGE = "en"
_JUDGED, _MOST = 8, 64
"""Maximum numbers of rules and conditions of a passage that are compared with the user's statements."""

_REMEMBERED = 0.6
"""Minimum share of common words between a condition and an earlier question about it."""

_LONGEST = 400
"""Maximum characters of a rule that is quoted whole; longer ones are quoted by their start and decisive conditions."""


class _Case(NamedTuple):
    """A passage with its rules, the question, and the user's statements."""

    passage: Passage
    question: str
    said: UserStatements
    rules: Sequence[Rule]


@member
class Rules(Builder):
    """Apply the rules of the best passage to a yes/no question, and ask back about open conditions. English only.

    A passage is split into rules with conditions (:mod:`convqa.sharc.rules`). The user's statements settle some
    of them. If the rest does not decide, the first open condition becomes a question (an answer of kind ``question``).
    Questions and replies are part of the turn's history, so that the builder has no state.

    :param conditions: how to decide whether the user's statements settle a condition: ``conditions``, the model that
        ships; ``lexical``; or a model's folder. See :func:`convqa.sharc.judge.load_conditions`.
    :param known: minimum score of a settled condition; None = the model's own.
    :param passages: how many top passages to consider. A passage whose conditions were asked about comes first, then
        the first one with rules about the question.
    :param relevant: minimum share of common words between the question and a passage (with ``builder``: a rule).
    :param builder: answers questions that no rule decides: its name, or ``{type: ..., init_parameters: {...}}``.
        Decisions then quote the rule. None: every answer is a label, Yes, No or Irrelevant, as in ShARC.
    :param options: ``device`` and ``precision`` of the model.
    """

    conditions: str = "conditions"
    known: Annotated[float, Field(ge=0, le=1)] | None = None
    passages: Annotated[int, Field(ge=1)] = 1
    relevant: Annotated[float, Field(ge=0, le=1)] = 0.12
    builder: Any = None
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self._builder = None if self.builder is None else make(self.builder, "builder", Builder)
        if self._builder is not None:
            self.inner = [self._builder]
            self.builder = describe(self._builder)

    @cached_property
    def _judge(self) -> Conditions:
        return load_conditions(self.conditions, Options(**(self.options or {})))

    def models(self) -> Mapping[str, Conditions]:
        return {"conditions": self._judge}

    def build_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        readings: MaybeReadings,
    ) -> Sequence[Answer | Failure]:
        cases = [self._case(*row) for row in zip(turns, rankings, strict=True)]
        pairs = list(dict.fromkeys(pair for case in cases if case for pair in _pairs(case)))
        facts = dict(zip(pairs, self._facts(pairs), strict=True))
        answers = [
            None if case is None else self._answer(case, facts, ranking)
            for case, ranking in zip(cases, rankings, strict=True)
        ]
        open = [index for index, answer in enumerate(answers) if answer is None]
        others = self._builder.build_at(open, (turns, rewrites, rankings, readings)) if self._builder else {}
        return [
            answer or others.get(index) or nothing(ranking, _why(turn))
            for index, (answer, turn, ranking) in enumerate(zip(answers, turns, rankings, strict=True))
        ]

    def _case(self, turn: Turn, ranking: Ranking) -> _Case | None:
        """Return the case of a turn, or None if rules cannot decide it."""
        if turn.language != _LANGUAGE:
            return None
        question = asking_sentences(open_question(turn))
        top = (hit.passage for hit in ranking.hits[: self.passages])
        passages = [passage for passage in top if passage is not None and passage.text.strip()]
        if self._builder is not None:
            is_decidable = is_yes_no_question(question)
            passages = [passage for passage in passages if is_decidable and self._is_relevant(passage, question)]
        if not passages:
            return None
        said = user_statements(turn)
        with_rules = (passage for passage in passages if telling(passage.text, question))
        passage = _asked_about(passages, said) or next(with_rules, passages[0])
        return _Case(passage, question, said, rules(passage.text))

    def _is_relevant(self, passage: Passage, question: str) -> bool:
        return any(fit(passage.text, rule, question) >= self.relevant for rule in rules(passage.text))

    def _facts(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Fact]:
        least = self._judge.threshold if self.known is None else self.known
        for (_, question), one in zip(pairs, self._judge.judge(pairs), strict=True):
            yield Fact(question, one.yes >= 0.5 if one.known >= least else None)

    def _answer(self, case: _Case, facts: Mapping[tuple[str, str], Fact], ranking: Ranking) -> Answer | None:
        replied = [_replied(asked, reply, facts) for asked, reply in case.said.replies]
        conditions = _conditions(case)
        earlier = (_replied(asked, reply, facts) for asked, reply in case.said.earlier)
        known = [facts[case.said.statements, one.question] for one in conditions] if case.said.statements else []
        # Replies are more certain than the model's judgments: the last fact on a condition counts.
        known += [fact for one in earlier if (fact := as_condition(one, conditions, _REMEMBERED)) is not None]
        # With another builder, relevance was checked before.
        relevant = self.relevant if self._builder is None else 0.0
        verdict = apply_rules(case.passage.text, case.question, replied, known, relevant)
        if verdict.answer == "irrelevant":
            return None if self._builder is not None else _label("Irrelevant", case.passage, ())
        if verdict.answer == "open":
            return _follow_up(verdict, case, ranking)
        label = verdict.answer.capitalize()
        if self._builder is None:
            return _label(label, case.passage, verdict.settled)
        return _quoted(label, case, verdict)


def _why(turn: Turn) -> str:
    """Return the reason for no answer."""
    foreign = f"rules are read in English only, and this turn is in {turn.language!r}"
    return foreign if turn.language != _LANGUAGE else "no passage that was found has a text"


def _asked_about(passages: Sequence[Passage], said: UserStatements) -> Passage | None:
    """Return the passage with the condition that the system asked about last, if there is one."""
    for asked, _ in reversed(said.replies):
        for passage in passages:
            if any(asked == one.question for rule in rules(passage.text) for one in rule.group.conditions()):
                return passage
    return None


def _pairs(case: _Case) -> Iterator[tuple[str, str]]:
    """Yield the pairs for the model: statements with each condition, and replies that are neither yes nor no."""
    if case.said.statements:
        for condition in _conditions(case):
            yield case.said.statements, condition.question
    for asked, reply in (*case.said.replies, *case.said.earlier):
        if agreed(reply) is None:
            yield reply, asked


def _conditions(case: _Case) -> list[Condition]:
    """Return the conditions of the rules that are most similar to the question; a long page has hundreds."""
    near = sorted(
        case.rules,
        key=lambda one: -alike(case.question, case.passage.text[one.start : one.end]),
    )
    return [condition for rule in near[:_JUDGED] for condition in rule.group.conditions()][:_MOST]


def _replied(asked: str, reply: str, facts: Mapping[tuple[str, str], Fact]) -> Fact:
    said = agreed(reply)
    return facts[reply, asked] if said is None else Fact(asked, said)


def _label(label: str, passage: Passage, settled: Sequence[Condition]) -> Answer:
    citations = tuple(Citation(passage.id, one.start, one.end) for one in settled)
    citations = citations or (Citation(passage.id, 0, len(passage.text)),)
    return Answer("answer", label, (Sentence(label, citations),), label=label)


def _follow_up(verdict: Verdict, case: _Case, ranking: Ranking) -> Answer:
    assert verdict.open is not None
    if verdict.unclear:
        return nothing(ranking, f"the reply to {verdict.open.question!r} says neither yes nor no")
    citations = (Citation(case.passage.id, verdict.open.start, verdict.open.end),)
    return Answer("question", verdict.open.question, (Sentence(verdict.open.question, citations),))


def _quoted(label: str, case: _Case, verdict: Verdict) -> Answer:
    """Return the label, citing the settled conditions, and quotes of the rule."""
    assert verdict.rule is not None
    text, id, start, end = (
        case.passage.text,
        case.passage.id,
        verdict.rule.start,
        verdict.rule.end,
    )
    decisive = [(condition.start, condition.end) for condition in verdict.settled] or [(start, end)]
    parts = [(start, end)]
    if end - start > _LONGEST:
        first = min(start + _LONGEST, decisive[0][0])
        parts = [(start, first), *decisive] if first > start else decisive
    quotes = [(start, end) for start, end in parts if text[start:end].strip(" \n*#-")]
    sentences = (
        Sentence(f"{label}.", tuple(Citation(id, *offsets) for offsets in decisive)),
        *(Sentence(" ".join(text[start:end].split()), (Citation(id, start, end),)) for start, end in quotes),
    )
    return replace(Answer.of(sentences, _LANGUAGE), label=label)
