"""Falsify sentences by rule: replace a number or a name, add or remove a negation."""

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
    """Replace one number by another of the same length from the evidence, or by a nearby one that the evidence lacks.

    None if the sentence has no number.

    >>> number("He came in 1808.", "He came in 1808 and left in 1832.", Random(1))
    'He came in 1832.'
    """
    matches = list(_NUMBER.finditer(sentence))
    if not matches:
        return None
    old = chance.choice(matches)
    in_evidence = {match[0] for match in _NUMBER.finditer(evidence)}
    in_sentence = {match[0] for match in matches}
    same_length = sorted(number for number in in_evidence - in_sentence if len(number) == len(old[0]))
    value = int(old[0].replace(",", ""))
    nearby = next(
        text
        for step in (*chance.sample(range(1, 10), 9), *range(10, 10_000))
        if (text := f"{value + step:,}" if "," in old[0] else str(value + step)) not in in_evidence | in_sentence
    )
    # Half of the replacements come from the evidence, if it has any.
    return _with(sentence, old, chance.choice(same_length) if same_length and chance.random() < 0.5 else nearby)


def name(sentence: str, evidence: str, chance: Random) -> str | None:
    """Replace one name by another from the evidence; None if the sentence or the evidence has none.

    >>> name("It was Goethe who wrote it.", "In it Goethe mocks Nicolai.", Random(1))
    'It was Nicolai who wrote it.'
    """
    matches = [match for match in _NAME.finditer(sentence) if match[0] not in _MONTHS]
    if not matches:
        return None
    old = chance.choice(matches)
    words = set(_WORD.findall(sentence))
    others = sorted({match[0] for match in _NAME.finditer(evidence) if words.isdisjoint(match[0].split())} - _MONTHS)
    return _with(sentence, old, chance.choice(others)) if others else None


def negation(sentence: str, evidence: str, chance: Random) -> str | None:  # noqa: ARG001 - the type Change
    """Affirm the first negated auxiliary, or else negate the first auxiliary; None without an auxiliary.

    >>> negation("He was not there.", "", Random(1)), negation("He was there.", "", Random(1))
    ('He was there.', 'He was not there.')
    """
    if negated := _NEGATED.search(sentence):
        return _with(sentence, negated, negated[1])
    auxiliary = _AUXILIARY.search(sentence)
    if auxiliary is None or re.match(r" (?:no|never|neither|nor)\b", sentence[auxiliary.end() :]):
        return None
    head, _, rest = auxiliary[0].partition(" ")
    return _with(sentence, auxiliary, f"{head} not{' ' if rest else ''}{rest}")


def _with(sentence: str, old: re.Match[str], new: str) -> str:
    return sentence[: old.start()] + new + sentence[old.end() :]


Change = Callable[[str, str, Random], str | None]
"""(sentence, evidence, chance) -> the falsified sentence, None if the rule does not apply."""

CHANGES: Mapping[str, Change] = {"number changed": number, "name changed": name, "negation changed": negation}
