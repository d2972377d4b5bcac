"""Answers by the rules in the best passage: yes, no, or a question back where a condition is not settled yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from convqa.components.base import Builder, MaybeReadings
from convqa.components.citations import nothing
from convqa.components.encoding import ModelOptions
from convqa.components.members import describe, make, member
from convqa.domain import Answer, Citation, Failure, Passage, Ranking, Rewrite, Sentence, Turn
from convqa.models import Conditions, Options, load_conditions
from convqa.text.dialogue import open_question
from convqa.text.english.conditions import Condition
from convqa.text.english.replies import UserStatements, agreed, asking_sentences, is_yes_no_question, user_statements
from convqa.text.english.rules import Rule, rules
from convqa.text.english.verdict import Fact, Verdict, alike, apply_rules, as_condition, fit, telling

_LANGUAGE = "en"
_JUDGED, _MOST = 8, 64
"""Rules of a passage whose conditions are set beside what the user told, and how many conditions of them."""

_REMEMBERED = 0.6
"""Share of common words from which a condition is what was asked for an earlier question."""

_LONGEST = 400
"""Characters of a rule that is quoted whole; of a longer one, how it begins and the conditions that decided."""


class _Case(NamedTuple):
    """A passage, the question that its rules are to answer, and what the user has told."""

    passage: Passage
    question: str
    said: UserStatements
    rules: Sequence[Rule]


@member
class Rules(Builder):
    """Work out what the rules of the best passage say to a yes/no question, and ask back for what they depend on.

    A passage is cut into rules with their conditions (:mod:`convqa.text.english.rules`); what the user has told settles
    some of them; the rest decides, or the first open condition becomes a question (an answer of kind ``question``).
    What is asked and replied stands in the turn's history, so that nothing is kept here. English only.

    :param conditions: who says whether what the user told of their own accord settles a condition: ``conditions``, the
        model that ships; ``lexical``; or a folder. See :func:`convqa.models.load_conditions`.
    :param known: from which score on a condition counts as settled; None = the model's own.
    :param passages: of how many top passages the first is taken whose rules tell something; one about whose conditions
        was asked before comes first.
    :param relevant: share of common words below which a passage (beside another builder: a rule) says nothing to a
        question.
    :param builder: who answers what no rule decides, by name or as ``{type: ..., init_parameters: {...}}``; a decision
        is then said with the rule's own words. None: every answer is a label, Yes, No or Irrelevant, as ShARC has it.
    :param options: ``device``, ``precision`` and ``engine`` of the model.
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
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking], readings: MaybeReadings
    ) -> Sequence[Answer | Failure]:
        cases = [self._case(*row) for row in zip(turns, rankings, strict=True)]
        wanted = list(dict.fromkeys(pair for case in cases if case for pair in _pairs(case)))
        facts = dict(zip(wanted, self._facts(wanted), strict=True))
        answers: list[Answer | Failure | None] = [
            None if case is None else self._answer(case, facts, ranking)
            for case, ranking in zip(cases, rankings, strict=True)
        ]
        left = [place for place, answer in enumerate(answers) if answer is None]
        if left and self._builder is not None:
            columns = ([column[place] for place in left] for column in (turns, rewrites, rankings, readings))
            for place, answer in zip(left, self._builder.build_batch(*columns), strict=True):  # type: ignore[arg-type]
                answers[place] = answer
        return [
            nothing(ranking, _why(turn)) if answer is None else answer
            for answer, turn, ranking in zip(answers, turns, rankings, strict=True)
        ]

    def _case(self, turn: Turn, ranking: Ranking) -> _Case | None:
        """None: there is nothing that rules could decide."""
        if turn.language != _LANGUAGE:
            return None
        question = asking_sentences(open_question(turn))
        texts = (hit.passage for hit in ranking.hits[: self.passages])
        found = [one for one in texts if one is not None and one.text.strip()]
        if self._builder is not None:
            found = [one for one in found if self._tells(one, question)] if is_yes_no_question(question) else []
        if not found:
            return None
        said = user_statements(turn)
        passage = _asked_about(found, said) or next((one for one in found if telling(one.text, question)), found[0])
        return _Case(passage, question, said, rules(passage.text))

    def _tells(self, passage: Passage, question: str) -> bool:
        """Whether a rule of the passage is about the question."""
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
        # What was replied is more certain than what is judged, and the last counts.
        known += [fact for one in earlier if (fact := as_condition(one, conditions, _REMEMBERED)) is not None]
        # Beside another builder the passage was looked at before.
        relevant = self.relevant if self._builder is None else 0.0
        found = apply_rules(case.passage.text, case.question, replied, known, relevant)
        if found.answer == "irrelevant":
            return None if self._builder is not None else _label("Irrelevant", case.passage, ())
        if found.answer == "open":
            return _asked(found, case, ranking)
        label = found.answer.capitalize()
        if self._builder is None:
            return _label(label, case.passage, found.settled)
        return _said(label, case, found)


def _why(turn: Turn) -> str:
    """The reason why no rule could be read."""
    foreign = f"rules are read in English only, and this turn is in {turn.language!r}"
    return foreign if turn.language != _LANGUAGE else "no passage that was found has a text"


def _asked_about(passages: Sequence[Passage], said: UserStatements) -> Passage | None:
    """The passage that has a condition which was asked for since the question, the latest first."""
    for asked, _ in reversed(said.replies):
        for passage in passages:
            if any(asked == one.question for rule in rules(passage.text) for one in rule.group.conditions()):
                return passage
    return None


def _pairs(case: _Case) -> Iterator[tuple[str, str]]:
    """The pairs to be judged: statements with every condition, and replies that are neither yes nor no."""
    if case.said.statements:
        for condition in _conditions(case):
            yield case.said.statements, condition.question
    for asked, reply in (*case.said.replies, *case.said.earlier):
        if agreed(reply) is None:
            yield reply, asked


def _conditions(case: _Case) -> list[Condition]:
    """Those of the rules that are most like the question: a long page has hundreds."""
    near = sorted(case.rules, key=lambda one: -alike(case.question, case.passage.text[one.start : one.end]))
    return [condition for rule in near[:_JUDGED] for condition in rule.group.conditions()][:_MOST]


def _replied(asked: str, reply: str, facts: Mapping[tuple[str, str], Fact]) -> Fact:
    said = agreed(reply)
    return facts[reply, asked] if said is None else Fact(asked, said)


def _label(label: str, passage: Passage, settled: Sequence[Condition]) -> Answer:
    citations = tuple(Citation(passage.id, one.start, one.end) for one in settled)
    citations = citations or (Citation(passage.id, 0, len(passage.text)),)
    return Answer("answer", label, (Sentence(label, citations),), label=label)


def _asked(found: Verdict, case: _Case, ranking: Ranking) -> Answer:
    assert found.open is not None
    if found.unclear:
        return nothing(ranking, f"the reply to {found.open.question!r} says neither yes nor no")
    cited = (Citation(case.passage.id, found.open.start, found.open.end),)
    return Answer("question", found.open.question, (Sentence(found.open.question, cited),))


def _said(label: str, case: _Case, found: Verdict) -> Answer:
    """The label, resting on the conditions that were settled, and the rule in its own words."""
    assert found.rule is not None
    text, id = case.passage.text, case.passage.id
    places = [(one.start, one.end) for one in found.settled] or [(found.rule.start, found.rule.end)]
    whole = [(found.rule.start, found.rule.end)]
    if found.rule.end - found.rule.start > _LONGEST:
        first = min(found.rule.start + _LONGEST, places[0][0])
        whole = [(found.rule.start, first), *places] if first > found.rule.start else places
    quoted = [(start, end) for start, end in whole if text[start:end].strip(" \n*#-")]
    said = (
        Sentence(f"{label}.", tuple(Citation(id, *place) for place in places)),
        *(Sentence(" ".join(text[start:end].split()), (Citation(id, start, end),)) for start, end in quoted),
    )
    return replace(Answer.of(said, _LANGUAGE), label=label)
