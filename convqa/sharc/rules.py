"""Parse English rule texts into conditions, their combination, and the outcome.

A rule is a list with its introduction, or a sentence with a condition (if, unless, must, who ...). It is a tree of
conditions joined by "all of" or "any of", and grants or denies its outcome. The introduction of a list ("all of the
following", "one of") decides how its points combine, then the conjunctions between the points, then their content:
things, kinds of people and exceptions ("unless") are alternatives; duties ("you must:") all have to hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from convqa.sharc.blocks import RuleBlock, blocks
from convqa.sharc.conditions import SHORTEST, Condition, Group, grouped, parts, series
from convqa.sharc.lexicon import DENIED
from convqa.sharc.questions import ask
from convqa.text.words import Offsets


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule in characters ``[start, end)`` of a text. If the group holds, ``outcome`` follows, which ``grants`` or
    denies something.
    """

    start: int
    end: int
    outcome: str
    group: Group
    grants: bool


_IF = r"(?:only )?if|when|where|provided(?: that)?|as long as|so long as|once|in case|because"
_UNLESS = r"unless|except (?:if|when|where|that)|except"
_MARK = re.compile(rf"\b(?:(?P<unless>{_UNLESS})|(?P<if>{_IF}))\b\s*", re.I)
_NONE = re.compile(r"\b(?:none|neither) of\b", re.I)
_MUST = re.compile(
    r"\b(?:must(?!n['\u2019`]t)|(?:have|has|need|needs) to|(?:are|is) required to)\b",
    re.I,
)
_WHO = re.compile(
    r"\b(?:who|which|that)(?=\s+(?:\w+ed|is|are|was|were|has|have|had|can|do|does|need|want|live|work|get)\b)"
)
_FOR = re.compile(r"\b(?:available (?:for|to)|only for|only to|for|to|by)\s+(?=\w)", re.I)
_EVERY = re.compile(
    r"\ball (?:of )?(?:the )?(?:following|these)|\ball\b[^.:]{0,60}\brequirements|\bboth\b|\beach of",
    re.I,
)
_ANY = re.compile(
    r"\b(?:any|one|either)\b(?: of)?(?: the)?(?: following)?|\bincluding\b|\bincludes?\b|\bsuch as\b|\bthings like\b|"
    r"\bthe following (?:\w+ )?(?:types?|groups?|items?|areas?)",
    re.I,
)
_FOLLOWING = re.compile(
    r"\s*(?:,?\s*and\s+)?\b(?:(?:at least )?(?:any|one|either|all|both|some|none|neither) "
    r"(?:of )?(?:the )?(?:following|these)"
    r"(?: \w+)?(?:\s+(?:apply|applies|is true|are true|must apply))?|"
    r"the following(?:\s+(?:apply|applies|things|items))?|following|either|both|including|such as|things like)\b\s*",
    re.I,
)
_STARTS = (
    r"(?:you|your|they|their|it|its|he|she|we|the|this|these|those|there|a|an|any|no|please|contact|apply|tell|ask|call|"
    r"use|write|send|check|fill|get|complete)\b"
)
_COMMA = re.compile(rf",\s+(?={_STARTS})", re.I)
_CLOSED = re.compile(r"\s+[-\u2013]\s+|;\s+|,?\s+(?:because|so that|so|but)\s+|\bthen\b", re.I)
_GOES_ON = re.compile(
    r"\s+(?=(?:you|they|it|we) (?:may|can|could|will|must|need|should|might|[a-z]+ (?:not )?be able)\b)"
)
_VERDICT = re.compile(
    r",?\s+(?=(?:may|can|could|will|must|should|might)(?:not|n['\u2019`]t)?\b)|,\s+|"
    r"\s+(?=(?:are|is)(?:n['\u2019`]t| not)? (?:entitled|eligible|considered|allowed|banned|excluded)\b)"
)
_WORDS = re.compile(r"\w{2,}.*\w{2,}")
_MARKUP = re.compile(r"[|<>{}]")
_JOINT = re.compile(r"\b(and|or)[;,.\s]*$", re.I)
"""The conjunction at the end of a point."""
_ACTORS = ("you", "they", "it", "we")
_MAX_SUBJECT_WORDS = 4
_MAX_STEM_WORDS = 12
_SHORT = 4
"""Maximum characters before a condition that leads its sentence, and minimum characters of that condition."""


@lru_cache(512)
def rules(text: str) -> tuple[Rule, ...]:
    """Return the rules of a text in order.

    >>> [rule] = rules("You can't get the payment if you live in Cyprus or work in Greece")
    >>> rule.grants, [condition.question for condition in rule.group.conditions()]
    (False, ['Do you live in Cyprus?', 'Do you work in Greece?'])
    >>> [rule] = rules("To qualify you must:\\n\\n* earn £113 a week\\n* give notice")
    >>> rule.grants, rule.group.every, [condition.question for condition in rule.group.conditions()]
    (True, True, ['Do you earn £113 a week?', 'Do you give notice?'])
    """
    result: list[Rule | None] = []
    for block in blocks(text):
        listed = _list_rule(text, block)
        if listed:
            result.append(listed)
        else:
            result += [_sentence_rule(text, *span) for span in block.sentences]
    return tuple(rule for rule in result if rule and _askable(rule.group))


def _rule(
    start: int,
    end: int,
    outcome: str,
    parts: Iterable[Condition | Group],
) -> Rule:
    """Return a rule whose outcome shows whether it grants."""
    return Rule(start, end, outcome, grouped(parts), not DENIED.search(outcome))


def _list_rule(text: str, block: RuleBlock) -> Rule | None:
    points = [span for span in block.points if len(text[slice(*span)].strip(" ;,.")) >= SHORTEST]
    if not points:
        return None
    begin, end = points[0][0], points[-1][1]
    intro = ""
    if block.intro:
        begin = block.intro[0]
        intro = text[slice(*block.intro)].lstrip("# ").rstrip(": ")
    outcome, stem, wanted = _introduced(intro)
    conditions = []
    for span in points:
        statement = _completed(stem, text[slice(*span)])
        conditions.append(Condition(*span, *ask(statement)))
    denies_all = _NONE.search(intro) is not None
    every = not denies_all and _all_of(text, intro, wanted, points)
    group = Group(tuple(conditions), every, wanted != denies_all)
    return _rule(begin, end, outcome, [*_head(text, block.intro), group])


def _introduced(intro: str) -> tuple[str, str, bool]:
    """Return the outcome of a list, the beginning of each point, and whether the points must hold (not: "unless")."""
    marks = list(_MARK.finditer(intro))
    if marks:
        outcome = intro[: marks[0].start()].strip(" ,")
        return (
            outcome or intro,
            _stem(intro[marks[-1].end() :]),
            marks[-1]["unless"] is None,
        )
    stem = ""
    must = _MUST.search(intro)
    if must:
        after = _stem(intro[must.end() :])
        is_whole = re.search(r"\b(?:apply|true|met)\b", after) or len(after.split()) > 3
        if not is_whole:
            stem = f"{_actor(intro[: must.start()])} must {after}".strip()
    return intro, stem, True


def _stem(text: str) -> str:
    """Return the introduction of a list as the beginning of each point."""
    return _FOLLOWING.sub(" ", text).strip(" ,:-")


def _actor(text: str) -> str:
    """Return who must meet a condition, from the words before it; "you" if they are not a short subject."""
    words = text.split(", ")[-1].split()
    if words and words[-1].lower() in _ACTORS:
        return words[-1].lower()
    return " ".join(words) if 0 < len(words) <= _MAX_SUBJECT_WORDS else "you"


def _completed(stem: str, point: str) -> str:
    """Return a point as a condition, preceded by the introduction unless it is a clause."""
    point = re.sub(r"[;,.\s]+(?:and|or|AND|OR)?[;,.\s]*$", "", point)
    clause = re.match(r"(?:you|your|it|they|he|she|their)[\u2019'\s]", point, re.I)
    if not stem or clause or len(stem.split()) > _MAX_STEM_WORDS:
        return point
    if not point[:2].isupper():
        point = point[:1].lower() + point[1:]
    return f"{stem} {point}"


def _all_of(
    text: str,
    intro: str,
    wanted: bool,
    points: list[Offsets],
) -> bool:
    """Return whether all points of a list have to hold; otherwise they are alternatives."""
    if _EVERY.search(intro):
        return True
    texts = [text[start:end] for start, end in points]
    joints = [joint[1].lower() for joint in map(_JOINT.search, texts) if joint]
    if joints:
        return joints.count("and") > joints.count("or")
    if not wanted or _ANY.search(intro):
        return False
    if _MUST.search(intro):
        return True
    return all(_MUST.search(point) for point in texts)


def _head(text: str, intro: Offsets | None) -> list[Condition | Group]:
    """Return the conditions in the introduction before "and all of the following" and the like."""
    marks = list(_MARK.finditer(text, *intro)) if intro else []
    if intro is None or not marks:
        return []
    start = marks[-1].end()
    for match in _FOLLOWING.finditer(text, start, intro[1]):
        before = text[start : match.start()].rstrip()
        is_joined = before.endswith(",") or re.match(r"\s*(?:,|and\b)", match[0])
        if is_joined and not text[match.end() : intro[1]].strip(" :"):
            return list(parts(text, start, match.start()))
    return []


def _sentence_rule(text: str, start: int, end: int) -> Rule | None:
    sentence = text[start:end]
    marks = [mark for mark in _MARK.finditer(text, start, end) if mark["if"] != "because"]
    if marks:
        return _marked(text, start, end, marks)
    must = _MUST.search(sentence)
    if must:
        before = sentence[max(0, must.start() - 8) : must.start()]
        if DENIED.search(before):
            return None
    if must and len(sentence[must.end() :].split()) >= SHORTEST:
        subject = sentence[: must.start()]
        duties = parts(text, start + must.end(), end, f"{_actor(subject)} must")
        return Rule(start, end, subject or sentence, grouped(duties), grants=True)
    who = _WHO.search(sentence)
    if who and len(sentence[who.end() :].split()) >= SHORTEST:
        closed = _VERDICT.search(text, start + who.end(), end)
        stop = closed.start() if closed else end
        outcome = f"{sentence[: who.start()]}{text[stop:end]}"
        return _rule(start, end, outcome, parts(text, start + who.end(), stop, "you"))
    kinds = series(text, start, end)
    if kinds:
        return _rule(start, end, sentence, [kinds])
    outcome = sentence
    first = start
    for target in _FOR.finditer(sentence):
        outcome = sentence[: target.start()]
        first = start + target.end()
    if first == start and len(sentence.split()) <= SHORTEST:
        return None
    condition = Condition(first, end, *ask(text[first:end]))
    # The denial follows the condition in "Contracts for ... are not binding".
    grants = not DENIED.search(sentence)
    return Rule(start, end, outcome, grouped([condition]), grants)


def _marked(
    text: str,
    start: int,
    end: int,
    marks: list[re.Match[str]],
) -> Rule:
    """Parse a sentence with if, unless and the like: they introduce the conditions, the rest is the outcome."""
    conditions: list[Condition | Group] = []
    rest: list[str] = []
    rest_start = start
    stops = [*(mark.start() for mark in marks[1:]), end]
    for mark, stop in zip(marks, stops, strict=True):
        rest.append(text[rest_start : mark.start()])
        leads = mark.start() - start < _SHORT
        closed = _close(text, mark.end(), stop, leads)
        close = closed.start() if closed else stop
        rest_start = closed.end() if closed else stop
        if mark["unless"] is None:
            conditions += parts(text, mark.end(), close)
        else:
            exceptions = tuple(parts(text, mark.end(), close))
            conditions.append(Group(exceptions, False, wanted=False))
    rest.append(text[rest_start:end])
    outcome = " ".join(part.strip() for part in rest if part.strip(" .,-"))
    return _rule(start, end, outcome, conditions)


def _askable(group: Group) -> bool:
    """Return whether there are conditions and all can be asked; markup, tables and symbols cannot."""
    questions = [condition.question for condition in group.conditions()]
    return bool(questions) and all(_WORDS.search(text) and not _MARKUP.search(text) for text in questions)


def _close(
    text: str,
    start: int,
    end: int,
    leads: bool,
) -> re.Match[str] | None:
    """Return the end of a condition.

    If the condition leads its sentence, it ends at the last comma before a clause. After the outcome, it
    continues across commas: "if you work, your income is low and you have a child".
    """
    if not leads:
        return _CLOSED.search(text, start, end)
    commas = list(_COMMA.finditer(text, start, end))
    if commas:
        return commas[-1]
    # No comma separates the outcome in "If you want it you will need ...".
    goes_on = _GOES_ON.search(text, start + _SHORT, end)
    return goes_on or _CLOSED.search(text, start, end)
