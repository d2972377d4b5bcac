"""Apply a rule text to a yes/no question, given the known facts: yes, no, a question to ask, or irrelevant.

Facts are questions with answers: questions asked back with their replies, and statements of the user. Each is matched
to the conditions of a rule (``convqa.sharc.rules``) by its words. Conditions without a fact stay open, and the
rule is evaluated in three-valued logic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from convqa.sharc.conditions import Condition, Group
from convqa.sharc.lexicon import DENIED, opposite
from convqa.sharc.rules import Rule, rules
from convqa.text.analysis import analyzer
from convqa.text.cache import remembered
from convqa.text.idf import idf

SAME = 0.25
"""Minimum overlap of a fact with its condition."""

_CIRCULAR = 0.6
"""Minimum overlap of a condition that merely repeats the user's question."""

_NUMBER = re.compile(r"\d+")
_States = dict[Condition, bool | None]


class Fact(NamedTuple):
    """A yes/no question and its answer, None if it was asked and the reply settled nothing."""

    question: str
    yes: bool | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """``open``: the condition to ask for next or, if ``unclear``, one whose reply settled nothing.

    ``settled``: the conditions that decided, in text order.
    """

    answer: Literal["yes", "no", "open", "irrelevant"]
    rule: Rule | None = None
    open: Condition | None = None
    settled: tuple[Condition, ...] = ()
    unclear: bool = False


def apply_rules(
    text: str,
    question: str,
    replies: Sequence[Fact],
    statements: Sequence[Fact] = (),
    relevant: float = 0.0,
) -> Verdict:
    """Apply the rules of a text to a question.

    Of several rules, uses the one that most facts are about, then the one most similar to the question.

    :param replies: answers to the questions asked back, oldest first. They also show how conditions combine: if another
        was asked for after one held, all are needed; if after one failed, one is enough.
    :param statements: other facts; each settles the condition with the identical question (``as_condition``).
    :param relevant: minimum overlap of question and text; ignored if there are facts.

    >>> text = "You can't get the payment if you live in Cyprus, France or Greece"
    >>> apply_rules(text, "Can I get the payment?", []).open.question
    'Do you live in Cyprus?'
    >>> apply_rules(text, "Can I get the payment?", [Fact("Do you live in Cyprus?", True)]).answer
    'no'
    >>> facts = [Fact(f"Do you live in {name}?", False) for name in ("France", "Greece")]
    >>> apply_rules(text, "Can I get the payment?", [Fact("Do you live in Cyprus?", False)], facts).answer
    'yes'
    """
    # An unsettled statement must not make a rule look more relevant.
    statements = [fact for fact in statements if fact.yes is not None]
    if not replies and not statements and alike(question, text) < relevant:
        return Verdict("irrelevant")
    candidates = telling(text, question) or list(rules(text))
    if not candidates:
        return Verdict("irrelevant")
    facts = [*replies, *statements]
    rule = max(
        candidates,
        key=lambda candidate: (
            _about(candidate, facts),
            fit(text, candidate, question),
        ),
    )
    others = [candidate for candidate in candidates if candidate is not rule and _about(candidate, replies)]
    evaluation = _RuleState(_together(rule, others))
    for fact in replies:
        evaluation.reply(fact)
    evaluation.state(statements)
    group, states = evaluation.group(), evaluation.states
    holds = _holds(group, states)
    if holds is None:
        following = _next(group, states, evaluation.asked)
        return Verdict(
            "open",
            rule,
            following or _next(group, states, set()),
            unclear=following is None,
        )
    yes = holds == (rule.grants != bool(DENIED.search(question)))
    decided = {condition for condition in _deciding(group, states) if condition.start >= 0}
    return Verdict(
        "yes" if yes else "no",
        rule,
        None,
        tuple(sorted(decided, key=lambda condition: condition.start)),
    )


def as_condition(fact: Fact, conditions: Sequence[Condition], least: float) -> Fact | None:
    """Restate a fact as an answer to the question of the most similar condition, None if none is similar enough.

    :param least: overlap above which two questions ask the same, provided that they have the same numbers.

    >>> [rule] = rules("You can get it if you live in Rome.")
    >>> as_condition(Fact("Don't you live in Rome?", False), list(rule.group.conditions()), 0.6)
    Fact(question='Do you live in Rome?', yes=True)
    """
    near = max(
        conditions,
        key=lambda condition: alike(fact.question, condition.question),
        default=None,
    )
    if near is None or alike(fact.question, near.question) <= least:
        return None
    if set(_NUMBER.findall(fact.question)) != set(_NUMBER.findall(near.question)):
        return None
    return Fact(
        near.question,
        None if fact.yes is None else fact.yes != opposite(fact.question, near.question),
    )


def telling(text: str, question: str) -> list[Rule]:
    """Return the rules of a text, except those whose conditions only repeat the question.

    >>> telling("If you're eligible for the grant, you get it automatically.", "Am I eligible for the grant?")
    []
    """
    return [
        rule
        for rule in rules(text)
        if any(alike(question, condition.question) < _CIRCULAR for condition in rule.group.conditions())
    ]


@remembered(4096)
def alike(first: str, second: str) -> float:
    """Return the overlap of two texts: the Dice coefficient of their content words, weighted by idf, 0 to 1."""

    def weight(tokens: frozenset[str]) -> float:
        return sum(idf(token, "en") for token in tokens)

    tokens = _content(first)
    others = _content(second)
    common = weight(tokens & others)
    if not common:
        return 0.0
    return 2 * common / (weight(tokens) + weight(others))


class _RuleState:
    """A rule with the states of its conditions."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._conditions = tuple(rule.group.conditions())
        self.states: _States = {}
        self.asked: set[Condition] = set()
        self._held: list[bool] = []
        self._extra: list[Condition] = []

    def reply(self, fact: Fact) -> None:
        """Settle the condition that a fact is about, or add a condition if it is about none."""

        def similarity(condition: Condition) -> tuple[float, bool, bool]:
            # Of conditions with the same words, prefers the identical question, then one that is still open.
            same = fact.question == condition.question
            return (
                alike(fact.question, condition.question),
                same,
                self.states.get(condition) is None,
            )

        near = max(self._conditions, key=similarity, default=None)
        if near is None or alike(fact.question, near.question) <= SAME:
            near = Condition(-1, -1 - len(self._extra), fact.question, wanted=True)
            self._extra.append(near)
        yes = None if fact.yes is None else fact.yes != opposite(fact.question, near.question)
        for condition in (
            near,
            *(each for each in self._conditions if each.question == near.question),
        ):
            if self.states.get(condition) is None:
                self.states[condition] = None if yes is None else yes == condition.wanted
            self.asked.add(condition)
        if yes is not None:
            self._held.append(yes == near.wanted)

    def state(self, facts: Sequence[Fact]) -> None:
        """Settle the conditions whose question is identical to that of a fact."""
        answers = {fact.question: fact.yes for fact in facts}
        for condition in self._conditions:
            if self.states.get(condition) is None and condition.question in answers:
                yes = answers[condition.question]
                self.states[condition] = yes == condition.wanted

    def group(self) -> Group:
        """Return the rule's conditions and the added ones, combined as the conversation shows."""
        group = self._rule.group
        if self._extra and group.wanted:
            group = replace(group, parts=(*group.parts, *self._extra))
        elif self._extra:
            group = Group((*self._extra, group), True)
        before = {held == group.wanted for held in self._held[:-1]}
        # The conversation overrides only a flat group; nested groups follow from the text.
        is_flat = all(isinstance(part, Condition) for part in group.parts)
        if is_flat and len(before) == 1:
            return replace(group, every=before == {True})
        return group


def fit(text: str, rule: Rule, question: str) -> float:
    """Return the overlap of a question with a rule or its outcome, 0 to 1."""
    return max(
        alike(question, rule.outcome),
        alike(question, text[rule.start : rule.end]),
    )


def _about(rule: Rule, facts: Sequence[Fact]) -> int:
    """Count the facts that are about the rule's conditions."""
    questions = [condition.question for condition in rule.group.conditions()]
    return sum(any(alike(fact.question, question) > SAME for question in questions) for fact in facts)


def _together(rule: Rule, others: Sequence[Rule]) -> Rule:
    """Combine a rule with others that were asked about: all must grant, but one is enough to deny."""
    if not others:
        return rule
    groups = [rule.group]
    for other in others:
        agrees = other.grants == rule.grants
        groups.append(replace(other.group, wanted=other.group.wanted == agrees))
    return replace(rule, group=Group(tuple(groups), rule.grants))


def _holds(part: Condition | Group, states: _States) -> bool | None:
    """Return whether a part holds, None while open."""
    if isinstance(part, Condition):
        return states.get(part)
    results = [_holds(inner, states) for inner in part.parts]
    decides = not part.every
    if decides in results:
        return decides == part.wanted
    return None if None in results else part.every == part.wanted


def _deciding(part: Condition | Group, states: _States) -> Iterator[Condition]:
    """Yield the conditions that decide whether a part holds."""
    if isinstance(part, Condition):
        yield part
        return
    results = [_holds(inner, states) for inner in part.parts]
    decides = not part.every
    for inner, holds in zip(part.parts, results, strict=True):
        if holds == decides or decides not in results:
            yield from _deciding(inner, states)


def _next(part: Condition | Group, states: _States, asked: set[Condition]) -> Condition | None:
    """Return the first open condition that was not asked for and can still change whether the part holds."""
    if isinstance(part, Condition):
        return part if states.get(part) is None and part not in asked else None
    if _holds(part, states) is None:
        for inner in part.parts:
            following = _next(inner, states, asked)
            if following is not None:
                return following
    return None


def _content(text: str) -> frozenset[str]:
    analysis = analyzer("en")
    return frozenset(analysis.content(text)) or frozenset(analysis.tokens(text))
