"""Falsify sentences by rule: swap a number or a name, add or remove a negation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?![\w,]*\d)")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,}){0,2}\b")
_WORD = re.compile(r"\w+")
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has been|have been|has|have|had|can|could|will|would|may|might|must|should|did|does|do)\b"
)
_NEGATED = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|may|might|must|should) ?(?:not|n['\u2019]t)\b"
)
_MONTHS = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December"}  # fmt: skip


def number(sentence: str, evidence: str, chance: Random) -> str | None:
    """The sentence with one number replaced: by another of the evidence with as many digits, or else by a near one
    that the evidence does not have; None without a number.

    >>> number("He came in 1808.", "He came in 1808 and left in 1832.", Random(1))
    'He came in 1832.'
    """
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    old = chance.choice(found)
    there = {one[0] for one in _NUMBER.finditer(evidence)}
    taken = {one[0] for one in found}
    alike = sorted(one for one in there - taken if len(one) == len(old[0]))
    value = int(old[0].replace(",", ""))
    near = next(
        text
        for step in (*chance.sample(range(1, 10), 9), *range(10, 10_000))
        if (text := f"{value + step:,}" if "," in old[0] else str(value + step)) not in there | taken
    )
    # Half of them mixed up within the evidence, half of them made up.
    return _with(sentence, old, chance.choice(alike) if alike and chance.random() < 0.5 else near)


def name(sentence: str, evidence: str, chance: Random) -> str | None:
    """The sentence with one name replaced by another of the evidence; None where there are no two.

    >>> name("It was Goethe who wrote it.", "In it Goethe mocks Nicolai.", Random(1))
    'It was Nicolai who wrote it.'
    """
    found = [one for one in _NAME.finditer(sentence) if one[0] not in _MONTHS]
    if not found:
        return None
    old = chance.choice(found)
    known = set(_WORD.findall(sentence))
    others = sorted({one[0] for one in _NAME.finditer(evidence) if known.isdisjoint(one[0].split())} - _MONTHS)
    return _with(sentence, old, chance.choice(others)) if others else None


def negation(sentence: str, evidence: str, chance: Random) -> str | None:  # noqa: ARG001 - as the others
    """The sentence with its first negated auxiliary plain, or else with its first auxiliary negated; None without one.

    >>> negation("He was not there.", "", Random(1)), negation("He was there.", "", Random(1))
    ('He was there.', 'He was not there.')
    """
    negated = _NEGATED.search(sentence)
    if negated:
        return _with(sentence, negated, negated[1])
    found = _AUXILIARY.search(sentence)
    if found is None or re.match(r" (?:no|never|neither|nor)\b", sentence[found.end() :]):
        return None
    head, _, rest = found[0].partition(" ")
    return _with(sentence, found, f"{head} not{' ' if rest else ''}{rest}")


def _with(sentence: str, old: re.Match[str], new: str) -> str:
    return sentence[: old.start()] + new + sentence[old.end() :]


Change = Callable[[str, str, Random], str | None]
"""Sentence, evidence, chance -> the sentence made false, None where the rule finds nothing to change."""

CHANGES: Mapping[str, Change] = {"number changed": number, "name changed": name, "negation changed": negation}
