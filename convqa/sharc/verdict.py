"""Apply a rule text to a yes/no question, given the known facts: yes, no, a question to ask, or irrelevant.

Facts are questions with answers: questions asked back with their replies, and statements of the user. Each is matched
to the conditions of a rule (``convqa.sharc.rules``) by its words. Conditions without a fact stay open, and the
rule is evaluated in three-valued logic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from convqa.sharc.conditions import Condition, Group
from convqa.sharc.lexicon import DENIED, HAVING_STEMS, opposite
from convqa.sharc.rules import Rule, rules
from convqa.text.analysis import analyzer
from convqa.text.idf import idf

SAME = 0.25
"""Minimum overlap of a fact with its condition."""

_NUMBER = re.compile(r"\d+")
_Answers = dict[str, bool | None]
"""Question -> whether the answer is yes."""


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

    >>> text = "You can't get the payment if you live in Cyprus or work in Greece"
    >>> apply_rules(text, "Can I get the payment?", []).open.question
    'Do you live in Cyprus?'
    >>> apply_rules(text, "Can I get the payment?", [Fact("Do you live in Cyprus?", True)]).answer
    'no'
    >>> facts = [Fact("Do you live in Cyprus?", False), Fact("Do you work in Greece?", False)]
    >>> apply_rules(text, "Can I get the payment?", facts).answer
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
    group, answers, asked = _settled(_together(rule, others), replies)
    answers = {fact.question: fact.yes for fact in statements} | answers
    holds = _holds(group, answers)
    if holds is None:
        following = _next(group, answers, asked)
        return Verdict(
            "open",
            rule,
            following or _next(group, answers, set()),
            unclear=following is None,
        )
    yes = holds == (rule.grants != bool(DENIED.search(question)))
    settled = sorted(_deciding(group, answers), key=lambda condition: condition.start)
    return Verdict(
        "yes" if yes else "no",
        rule,
        settled=tuple(condition for condition in settled if condition.start >= 0),
    )


def as_condition(
    fact: Fact,
    conditions: Sequence[Condition],
    least: float,
) -> Fact | None:
    """Restate a fact as an answer to the question of the most similar condition, None if none is similar enough.

    :param least: overlap above which two questions ask the same, provided that they have the same numbers.

    >>> [rule] = rules("You can get it if you live in Rome.")
    >>> as_condition(Fact("Don't you live in Rome?", False), list(rule.group.conditions()), 0.6)
    Fact(question='Do you live in Rome?', yes=True)
    """
    if not conditions:
        return None
    near = _nearest(fact.question, conditions, {})
    if alike(fact.question, near.question) <= least:
        return None
    numbers = set(_NUMBER.findall(fact.question))
    if numbers != set(_NUMBER.findall(near.question)):
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
    asked = _content(question) - HAVING_STEMS
    useful = []
    for rule in rules(text):
        conditions = rule.group.conditions()
        repeats = [_content(condition.question) - HAVING_STEMS == asked for condition in conditions]
        if not asked or not all(repeats):
            useful.append(rule)
    return useful


@lru_cache(4096)
def alike(first: str, second: str) -> float:
    """Return the overlap of two texts: the Dice coefficient of their content words, weighted by idf, 0 to 1."""

    def weight(tokens: frozenset[str]) -> float:
        # fsum does not depend on the order of a set, which differs between processes.
        return math.fsum(idf(token, "en") for token in tokens)

    tokens = _content(first)
    others = _content(second)
    common = weight(tokens & others)
    if not common:
        return 0.0
    return 2 * common / (weight(tokens) + weight(others))


def _settled(group: Group, replies: Sequence[Fact]) -> tuple[Group, _Answers, set[str]]:
    """Return the conditions with those that only the replies are about, combined as the conversation shows.

    Also returns the answers to their questions, and the questions that were asked.
    """
    conditions = tuple(group.conditions())
    answers: _Answers = {}
    asked: set[str] = set()
    held: list[bool] = []
    extra: list[Condition] = []
    for fact in replies:
        near = _nearest(fact.question, conditions, answers)
        if alike(fact.question, near.question) <= SAME:
            near = Condition(-1, -1, fact.question, wanted=True)
            extra.append(near)
        asked.add(near.question)
        if fact.yes is not None:
            yes = fact.yes != opposite(fact.question, near.question)
            answers.setdefault(near.question, yes)
            held.append(yes == near.wanted)
    group = replace(group, parts=(*group.parts, *extra))
    before = {each == group.wanted for each in held[:-1]}
    # The conversation overrides only a flat group; nested groups follow from the text.
    is_flat = all(isinstance(part, Condition) for part in group.parts)
    if is_flat and len(before) == 1:
        group = replace(group, every=before == {True})
    return group, answers, asked


def _nearest(
    question: str,
    conditions: Sequence[Condition],
    answers: _Answers,
) -> Condition:
    """Return the most similar condition: of those with the same words, the identical one, then one that is open."""

    def similarity(condition: Condition) -> tuple[float, bool, bool]:
        asked = condition.question
        return alike(question, asked), question == asked, asked not in answers

    return max(conditions, key=similarity)


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


def _together(rule: Rule, others: Sequence[Rule]) -> Group:
    """Combine a rule with others that were asked about: all must grant, but one is enough to deny."""
    if not others:
        return rule.group
    groups = [rule.group]
    for other in others:
        agrees = other.grants == rule.grants
        groups.append(replace(other.group, wanted=other.group.wanted == agrees))
    return Group(tuple(groups), rule.grants)


def _holds(part: Condition | Group, answers: _Answers) -> bool | None:
    """Return whether a part holds, None while open."""
    if isinstance(part, Condition):
        yes = answers.get(part.question)
        return None if yes is None else yes == part.wanted
    results = [_holds(inner, answers) for inner in part.parts]
    decides = not part.every
    if decides in results:
        return decides == part.wanted
    return None if None in results else part.every == part.wanted


def _deciding(part: Condition | Group, answers: _Answers) -> Iterator[Condition]:
    """Yield the conditions that decide whether a part holds."""
    if isinstance(part, Condition):
        yield part
        return
    results = [_holds(inner, answers) for inner in part.parts]
    decides = not part.every
    for inner, holds in zip(part.parts, results, strict=True):
        if holds == decides or decides not in results:
            yield from _deciding(inner, answers)


def _next(
    group: Group,
    answers: _Answers,
    asked: set[str],
) -> Condition | None:
    """Return the first open condition that was not asked for and can still change whether the group holds."""
    for part in group.parts:
        if _holds(part, answers) is not None:
            continue
        if isinstance(part, Group):
            following = _next(part, answers, asked)
            if following is not None:
                return following
        elif part.question not in asked:
            return part
    return None


def _content(text: str) -> frozenset[str]:
    analysis = analyzer("en")
    return frozenset(analysis.content(text)) or frozenset(analysis.tokens(text))
