"""The verdict of a rule text on a yes/no question, as far as the facts go: yes, no, a question to ask, or nothing.

Facts are questions with their answers: what was asked back and replied, and what somebody told of their own accord.
Each is set beside the conditions of a rule (``convqa.text.english.rules``) by its words; conditions that no fact
settles stay open, and the rule is worked out with three values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from convqa.text.analysis import analyzer
from convqa.text.cache import remembered
from convqa.text.english.conditions import Condition, Group
from convqa.text.english.lexicon import DENIED, HAVING_STEMS, opposite
from convqa.text.english.rules import Rule, rules
from convqa.text.idf import idf

SAME = 0.25
"""Share of common words from which a fact is about a condition."""

_CIRCULAR = 0.6
"""Share of common words from which a condition is what is asked."""

_NUMBER = re.compile(r"\d+")


class Fact(NamedTuple):
    """A yes/no question and its answer; None: it was asked, and the reply settled nothing."""

    question: str
    yes: bool | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """``open``: the condition to ask for next, or, where it is ``unclear``, one whose reply settled nothing.

    ``settled``: the conditions that decided, in the order of the text.
    """

    answer: Literal["yes", "no", "open", "irrelevant"]
    rule: Rule | None = None
    open: Condition | None = None
    settled: tuple[Condition, ...] = ()
    unclear: bool = False


def apply_rules(
    text: str, question: str, replies: Sequence[Fact], told: Sequence[Fact] = (), relevant: float = 0.0
) -> Verdict:
    """The verdict of a text's rules on a question.

    Of several rules the one counts that most facts are about, then the one that is most like the question.

    :param replies: what was asked back for this question, oldest first. They tell more than the facts: where a
        condition held and yet another was asked for, all of them are needed; where it did not, one is enough.
    :param told: other facts; each settles the condition whose question it has word for word (``as_condition``).
    :param relevant: share of common words of question and text below which the text is about something else; it is
        looked at only where there are no facts.

    >>> text = "You can't get the payment if you live in Cyprus, France or Greece"
    >>> apply_rules(text, "Can I get the payment?", []).open.question
    'Do you live in Cyprus?'
    >>> apply_rules(text, "Can I get the payment?", [Fact("Do you live in Cyprus?", True)]).answer
    'no'
    >>> facts = [Fact(f"Do you live in {name}?", False) for name in ("France", "Greece")]
    >>> apply_rules(text, "Can I get the payment?", [Fact("Do you live in Cyprus?", False)], facts).answer
    'yes'
    """
    told = [one for one in told if one.yes is not None]  # else a rule would count for as much as it asks
    if not replies and not told and alike(question, text) < relevant:
        return Verdict("irrelevant")
    found = telling(text, question) or list(rules(text))
    if not found:
        return Verdict("irrelevant")
    facts = [*replies, *told]
    rule = max(found, key=lambda one: (_about(one, facts), fit(text, one, question)))
    work = _Work(_together(rule, [one for one in found if one is not rule and _about(one, replies)]))
    for fact in replies:
        work.reply(fact)
    work.told(told)
    group = work.group()
    holds = _holds(group, work.states)
    if holds is None:
        wanted = _next(group, work.states, work.asked)
        return Verdict("open", rule, wanted or _next(group, work.states, set()), unclear=wanted is None)
    yes = holds == (rule.grants != bool(DENIED.search(question)))
    decided = {one for one in _deciding(group, work.states) if one.start >= 0}
    return Verdict("yes" if yes else "no", rule, None, tuple(sorted(decided, key=lambda one: one.start)))


def as_condition(fact: Fact, conditions: Sequence[Condition], least: float) -> Fact | None:
    """A fact as an answer to the question of the condition that is most like it; None where none is as like as that.

    :param least: share of common words above which they ask the same. Numbers have to be the same as well.

    >>> [rule] = rules("You can get it if you live in Rome.")
    >>> as_condition(Fact("Don't you live in Rome?", False), list(rule.group.conditions()), 0.6)
    Fact(question='Do you live in Rome?', yes=True)
    """
    near = max(conditions, key=lambda one: alike(fact.question, one.question), default=None)
    if near is None or alike(fact.question, near.question) <= least:
        return None
    if set(_NUMBER.findall(fact.question)) != set(_NUMBER.findall(near.question)):
        return None
    return Fact(near.question, None if fact.yes is None else fact.yes != opposite(fact.question, near.question))


def telling(text: str, question: str) -> list[Rule]:
    """The rules of a text but for those whose condition is what is asked.

    >>> telling("If you're eligible for the grant, you get it automatically.", "Am I eligible for the grant?")
    []
    """
    asked = _content(question) - HAVING_STEMS

    def circular(condition: Condition) -> bool:
        same = bool(asked) and asked == _content(condition.question) - HAVING_STEMS
        return same or alike(question, condition.question) >= _CIRCULAR

    return [one for one in rules(text) if not all(map(circular, one.group.conditions()))]


@remembered(4096)
def alike(one: str, other: str) -> float:
    """The share of their content words, by weight, that two texts have in common, 0 to 1 (Dice)."""

    def weight(tokens: frozenset[str]) -> float:
        return sum(idf(token, "en") for token in tokens)

    first, second = _content(one), _content(other)
    common = weight(first & second)
    return 2 * common / (weight(first) + weight(second)) if common else 0.0


class _Work:
    """A rule while facts are set beside its conditions."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._conditions = tuple(rule.group.conditions())
        self.states: dict[Condition, bool | None] = {}
        self.asked: set[Condition] = set()
        self._held: list[bool] = []
        self._extra: list[Condition] = []

    def reply(self, fact: Fact) -> None:
        """Settle the condition that a fact is about; what no condition is about was asked for a reason of its own."""

        def likeness(one: Condition) -> tuple[float, bool, bool]:
            # Of conditions with the same words the one that says the same, then one that is still open.
            return alike(fact.question, one.question), fact.question == one.question, self.states.get(one) is None

        near = max(self._conditions, key=likeness, default=None)
        if near is None or alike(fact.question, near.question) <= SAME:
            near = Condition(-1, -1 - len(self._extra), fact.question, wanted=True)
            self._extra.append(near)
        yes = None if fact.yes is None else fact.yes != opposite(fact.question, near.question)
        for one in (near, *(one for one in self._conditions if one.question == near.question)):
            if self.states.get(one) is None:
                self.states[one] = None if yes is None else yes == one.wanted
            self.asked.add(one)
        if yes is not None:
            self._held.append(yes == near.wanted)

    def told(self, facts: Sequence[Fact]) -> None:
        """Settle the conditions whose own question a fact is."""
        answers = {fact.question: fact.yes for fact in facts}
        for one in self._conditions:
            if one.question in answers and self.states.get(one) is None:
                self.states[one] = answers[one.question] == one.wanted

    def group(self) -> Group:
        """The rule's conditions and what else was asked for, joined as the conversation joined them."""
        group = self._rule.group
        if self._extra and group.wanted:
            group = replace(group, parts=(*group.parts, *self._extra))
        elif self._extra:
            group = Group((*self._extra, group), True)
        before = {held == group.wanted for held in self._held[:-1]}
        # Only where the text does not say it by how its parts are joined.
        flat = all(isinstance(part, Condition) for part in group.parts)
        return replace(group, every=before.pop()) if flat and len(before) == 1 else group


def fit(text: str, rule: Rule, question: str) -> float:
    """How much a question is like a rule or what follows from it, 0 to 1."""
    return max(alike(question, rule.outcome), alike(question, text[rule.start : rule.end]))


def _about(rule: Rule, facts: Sequence[Fact]) -> int:
    """How many of the facts are about the rule's conditions."""
    conditions = [one.question for one in rule.group.conditions()]
    return sum(any(alike(fact.question, one) > SAME for one in conditions) for fact in facts)


def _together(rule: Rule, others: Sequence[Rule]) -> Rule:
    """A rule with others that were asked about as well: what is granted, all must grant; one is enough to deny."""
    if not others:
        return rule
    groups = [replace(one.group, wanted=one.group.wanted == (one.grants == rule.grants)) for one in others]
    return replace(rule, group=Group((rule.group, *groups), rule.grants))


def _holds(part: Condition | Group, states: dict[Condition, bool | None]) -> bool | None:
    """Whether a part holds; None while that is open."""
    if isinstance(part, Condition):
        return states.get(part)
    found = [_holds(one, states) for one in part.parts]
    decides = not part.every
    holds = decides if decides in found else None if None in found else not decides
    return holds if holds is None else holds == part.wanted


def _deciding(part: Condition | Group, states: dict[Condition, bool | None]) -> Iterator[Condition]:
    """The conditions that a part holds by, or does not: of alternatives those that hold, if any does."""
    if isinstance(part, Condition):
        yield part
        return
    holds = [_holds(one, states) for one in part.parts]
    decides = not part.every
    for one, found in zip(part.parts, holds, strict=True):
        if found == decides or decides not in holds:
            yield from _deciding(one, states)


def _next(part: Condition | Group, states: dict[Condition, bool | None], asked: set[Condition]) -> Condition | None:
    """The first condition that is open, was not asked for, and can still change whether the part holds."""
    if isinstance(part, Condition):
        return part if states.get(part) is None and part not in asked else None
    if _holds(part, states) is not None:
        return None
    return next((one for one in (_next(inner, states, asked) for inner in part.parts) if one), None)


def _content(text: str) -> frozenset[str]:
    analysis = analyzer("en")
    return frozenset(analysis.content(text)) or frozenset(analysis.tokens(text))
