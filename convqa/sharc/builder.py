"""Answers yes/no questions by the rules in the best passage, or asks back about an open condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from convqa.components.base import Builder, MaybeReadings
from convqa.components.checks import nothing
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

_Judged = Mapping[tuple[str, str], bool | None]
"""(text, question) -> whether the text answers it by yes, None if it does not answer it."""

_LANGUAGE = "en"
_MAX_RULES = 8
_MAX_CONDITIONS = 64
"""Maximum numbers of rules and conditions of a passage that are compared with the user's statements."""

_MIN_REMEMBERED = 0.6
"""Minimum share of common words between a condition and an earlier question about it."""

_MAX_WHOLE_CHARS = 400
"""Maximum characters of a rule that is quoted whole; longer ones are quoted by their start and decisive conditions."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A passage with its rules, the question, and the user's statements."""

    passage: Passage
    question: str
    said: UserStatements

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of the rules that are most similar to the question; a long page has hundreds."""
        text = self.passage.text

        def similarity(rule: Rule) -> float:
            return alike(self.question, text[rule.start : rule.end])

        nearest = sorted(rules(text), key=similarity, reverse=True)[:_MAX_RULES]
        conditions = [condition for rule in nearest for condition in rule.group.conditions()]
        return conditions[:_MAX_CONDITIONS]

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """The pairs for the model: statements with each condition, and replies that are neither yes nor no."""
        if self.said.statements:
            for condition in self.conditions:
                yield self.said.statements, condition.question
        for asked, reply in (*self.said.replies, *self.said.earlier):
            if agreed(reply) is None and reply.strip():
                yield reply, asked


@member
class Rules(Builder):
    """Apply the rules of the best passage to a yes/no question, and ask back about open conditions. English only.

    A passage is split into rules with conditions (:mod:`convqa.sharc.rules`). The user's statements settle some
    of them. If the rest does not decide, the first open condition becomes a question (an answer of kind ``question``).
    Questions and replies are part of the turn's history, so that the builder has no state.

    :param min_condition_score: minimum score of a settled condition; None = the model's own.
    :param max_passages: how many top passages to consider. A passage whose conditions were asked about comes first,
        then the first one with rules about the question.
    :param min_word_overlap: minimum share of common words between the question and a passage (with ``builder``: a
        rule).
    :param builder: answers questions that no rule decides: its name, or ``{type: ..., init_parameters: {...}}``.
        Decisions then quote the rule. None: every answer is a label, Yes, No or Irrelevant, as in ShARC.
    """

    min_condition_score: Annotated[float, Field(ge=0, le=1)] | None = None
    max_passages: Annotated[int, Field(ge=1)] = 1
    min_word_overlap: Annotated[float, Field(ge=0, le=1)] = 0.12
    builder: Any = None

    def __post_init__(self) -> None:
        self._builder = None if self.builder is None else make(self.builder, "builder", Builder)
        if self._builder is not None:
            self.inner = [self._builder]
            self.builder = describe(self._builder)

    @cached_property
    def _judge(self) -> Conditions:
        return load_conditions()

    def models(self) -> Mapping[str, Conditions]:
        return {"conditions": self._judge}

    def build_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        readings: MaybeReadings,
    ) -> Sequence[Answer | Failure]:
        cases = [self._case(turn, ranking) for turn, ranking in zip(turns, rankings, strict=True)]
        judged = self._judged([pair for case in cases if case is not None for pair in case.pairs])
        answers: list[Answer | Failure | None] = [
            None if case is None else self._answer(case, judged, ranking)
            for case, ranking in zip(cases, rankings, strict=True)
        ]
        if self._builder is not None:
            undecided = [index for index, answer in enumerate(answers) if answer is None]
            others = self._builder.build_at(undecided, (turns, rewrites, rankings, readings))
            for index, answer in others.items():
                answers[index] = answer
        return [
            answer or nothing(ranking, _why(turn))
            for answer, turn, ranking in zip(answers, turns, rankings, strict=True)
        ]

    def _case(self, turn: Turn, ranking: Ranking) -> _Case | None:
        """Return the case of a turn, or None if rules cannot decide it."""
        question = asking_sentences(open_question(turn))
        if turn.language != _LANGUAGE or (self._builder is not None and not is_yes_no_question(question)):
            return None
        passages = [
            hit.passage
            for hit in ranking.hits[: self.max_passages]
            if hit.passage is not None and self._is_readable(hit.passage, question)
        ]
        if not passages:
            return None
        said = user_statements(turn)
        with_rules = (passage for passage in passages if telling(passage.text, question))
        passage = _asked_about(passages, said) or next(with_rules, passages[0])
        return _Case(passage, question, said)

    def _is_readable(self, passage: Passage, question: str) -> bool:
        """Whether a passage has a text and, if another builder answers the rest, a rule about the question."""
        if self._builder is None:
            return bool(passage.text.strip())
        overlaps = [fit(passage.text, rule, question) for rule in rules(passage.text)]
        return any(overlap >= self.min_word_overlap for overlap in overlaps)

    def _judged(self, pairs: Sequence[tuple[str, str]]) -> _Judged:
        least = self._judge.threshold if self.min_condition_score is None else self.min_condition_score
        distinct = list(dict.fromkeys(pairs))
        judged = {}
        for pair, judgment in zip(distinct, self._judge.judge(distinct), strict=True):
            judged[pair] = judgment.yes >= 0.5 if judgment.known >= least else None
        return judged

    def _answer(
        self,
        case: _Case,
        judged: _Judged,
        ranking: Ranking,
    ) -> Answer | None:
        conditions = case.conditions
        questions = [condition.question for condition in conditions]
        known = [Fact(question, judged.get((case.said.statements, question))) for question in questions]
        # Replies are more certain than the model's judgments: the last fact on a condition counts.
        for asked, reply in case.said.earlier:
            fact = as_condition(_replied(asked, reply, judged), conditions, _MIN_REMEMBERED)
            if fact is not None:
                known.append(fact)
        replied = [_replied(asked, reply, judged) for asked, reply in case.said.replies]
        # With another builder, relevance was checked before.
        relevant = self.min_word_overlap if self._builder is None else 0.0
        verdict = apply_rules(case.passage.text, case.question, replied, known, relevant)
        if verdict.answer == "open":
            return _follow_up(verdict, case.passage, ranking)
        if self._builder is not None and verdict.answer == "irrelevant":
            return None
        return _decision(verdict, case.passage, quotes=self._builder is not None)


def _why(turn: Turn) -> str:
    """Return the reason for no answer."""
    if turn.language != _LANGUAGE:
        return f"rules are read in English only, and this turn is in {turn.language!r}"
    return "no passage that was found has a text"


def _asked_about(passages: Sequence[Passage], said: UserStatements) -> Passage | None:
    """Return the passage with the condition that the system asked about last, if there is one."""
    for asked, _ in reversed(said.replies):
        for passage in passages:
            for rule in rules(passage.text):
                if any(asked == condition.question for condition in rule.group.conditions()):
                    return passage
    return None


def _replied(
    asked: str,
    reply: str,
    judged: _Judged,
) -> Fact:
    yes = agreed(reply)
    return Fact(asked, judged.get((reply, asked)) if yes is None else yes)


def _follow_up(verdict: Verdict, passage: Passage, ranking: Ranking) -> Answer:
    condition = verdict.open
    assert condition is not None
    question = condition.question
    if verdict.unclear:
        return nothing(ranking, f"the reply to {question!r} says neither yes nor no")
    sentence = _cited(question, passage, [(condition.start, condition.end)])
    return Answer("question", question, (sentence,))


def _decision(verdict: Verdict, passage: Passage, quotes: bool) -> Answer:
    """Return the label, citing the settled conditions or else the whole rule; ``quotes``: followed by the rule."""
    label = verdict.answer.capitalize()
    rule = verdict.rule
    start, end = (rule.start, rule.end) if rule else (0, len(passage.text))
    decisive = [(condition.start, condition.end) for condition in verdict.settled]
    if not decisive:
        decisive.append((start, end))
    if not quotes:
        return Answer("answer", label, (_cited(label, passage, decisive),), label=label)
    spans = [(start, end)]
    if end - start > _MAX_WHOLE_CHARS:
        beginning = (start, min(start + _MAX_WHOLE_CHARS, decisive[0][0]))
        spans = [beginning, *decisive]
    sentences = [_cited(f"{label}.", passage, decisive)]
    for span in spans:
        text = passage.text[slice(*span)]
        if text.strip(" \n*#-"):
            sentences.append(_cited(" ".join(text.split()), passage, [span]))
    return replace(Answer.of(sentences, _LANGUAGE), label=label)


def _cited(
    text: str,
    passage: Passage,
    spans: Sequence[tuple[int, int]],
) -> Sentence:
    return Sentence(text, tuple(Citation(passage.id, *span) for span in spans))
