"""Grounding of generated sentences: which units of the passages support them, and what the passages say instead.

A sentence is compared with the passages as the model saw them, with title, headings and header rows. It is supported by
up to three units, anywhere in a passage, that have most of its content words, all of its numbers and names, and no
clause that says the opposite. Words of the conversation count less, and numbers that follow from others need none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import prod
from typing import NamedTuple

from convqa.components.builders._addresses import foreign
from convqa.components.builders._evidence import (
    Clause,
    Evidence,
    Weights,
    clauses_of,
    counted_by,
    evidence_of,
    part_of,
    tokens_of,
    weight,
)
from convqa.components.builders._prompt import PassagePart
from convqa.components.builders._reply import ReplySentence, is_refusal
from convqa.domain import Citation, Passage, Sentence, Turn
from convqa.text.support import SupportWord, support_words
from convqa.text.words import listed
from convqa.text.words import words as split_words

_MAX_UNITS = 3
"""How many units may support a sentence together."""

_MIN_SHARE = 0.55
"""Minimum share of a sentence's content words, by weight, that its evidence has."""

_MIN_SINGLE = 0.34
"""Minimum share that one of the units has alone."""

_MIN_STATED = 0.35
"""Minimum share of the words that are neither names nor numbers."""

_MIN_GAIN = 0.07
"""Minimum share that a further unit adds."""

_TOPIC_WEIGHT = 0.5
"""Factor on the weight of a word that the conversation has."""

_MIN_PLACE = 0.45
"""How well a number's unit fits the words beside the number, relative to the best unit with another number."""

_MIN_CLAUSE = 0.5
"""Minimum share of a clause's words in the clause of the passage that it is compared with."""

_MIN_CONCLUSION = 0.6
"""The same of a sentence that begins with "Yes" or "No", which is often concluded."""

_MIN_CLAUSE_WORDS = 2
"""A shorter clause is not compared: "but not at 62"."""


_MAX_REFERENCE = 2
"""How many units after another may refer to what it names."""


_MIN_LANGUAGE_WORDS = 5
_MIN_SHARED_WORDS = 0.2
"""The share of words that a reply has in common with passages in its language, because of frequent ones."""

_INSTRUCTION_RUN_WORDS = 8
"""A sentence that shares this many consecutive words with the instruction repeats it."""

_DECIMAL = re.compile(r"[0-9]*\.?[0-9]+")
_VERDICT = re.compile(r"\A\W*(?:so\s+)?(?:yes|no|ja|nein)\b(?:[\s,.:;!\u2013\u2014-]*[,.:;!\u2013\u2014-]\s*|\Z)", re.I)

_REFERRING = listed("it they them there this that these those he she his her their its who which later other others")
_DATE_NAMES = listed("januar februa march april mai june juli august septem octob novemb decemb")
"""Tokens of months, whose numbers are those of days."""


class _Verdict(NamedTuple):
    """The outcome of the check of one sentence: its citations, or why it has none."""

    is_supported: bool = False
    citations: tuple[Citation, ...] = ()
    reason: str = ""


class Grounding:
    """The passages of a prompt, prepared to check the sentences of a reply against them, in order.

    ``left_out``: why sentences are not shown. ``notes``: the changed citations and marks, for a run's summary.

    :param question: the question and its rewrite.
    :param instruction: the model's instruction, which no sentence may repeat.
    """

    def __init__(
        self,
        passages: Sequence[PassagePart],
        question: str,
        turn: Turn,
        instruction: str = "",
    ) -> None:
        language = self._language = turn.language
        self._passages = passages
        self._evidence = [list(evidence_of(part, language)) for part in passages]
        answers = [Passage("", exchange.answer) for exchange in turn.history]
        self._earlier = [one for said in answers for one in evidence_of(PassagePart(said, 0, len(said.text)), language)]
        self._texts = [text for part in passages for text in (part.text, part.passage.title, part.passage.url)]
        self._asked = tokens_of([question], language)
        earlier = [text for exchange in turn.history for text in (exchange.question, exchange.answer)]
        self._topic = self._asked | tokens_of(earlier, language)
        texts = [support_words(text, language) for text in [*self._texts, question]]
        self._names = {word.token for words in texts for word in words if word.is_name}
        pairs = [pair for words in texts for pair in pairwise(words)]
        self._models = {(name.token, number.token) for name, number in pairs if number.is_number}
        self._vocabulary = set(split_words(" ".join([question, *self._texts])))
        self._reply_words: list[str] = []
        self._numbers: set[str] = set()
        self._instruction = _word_runs(instruction)
        self.notes: list[str] = []
        self.left_out: list[str] = []

    def shown(self, sentences: Sequence[ReplySentence]) -> list[Sentence]:
        """Return the sentences to show, checked."""
        checked = []
        for sentence in sentences:
            fault = self.fault(sentence.text)
            if fault:
                self.left_out.append(fault)
            else:
                checked.append(self.checked(sentence))
        self.notes += ["not found in the passages" for sentence in checked if sentence.supported is False]
        return checked

    def fault(self, text: str) -> str:
        """Return why a sentence is left out, or ""."""
        if foreign(text, self._texts):
            return "it had an address that no passage has"
        if not self._instruction.isdisjoint(_word_runs(text)):
            return "it repeated an instruction"
        return ""

    def checked(self, sentence: ReplySentence) -> Sentence:
        """Return a sentence with its citations, or marked. The frame of others, and refusals, need no support."""
        text = f"{sentence.mark} {sentence.text}".strip()
        if sentence.kind == "frame" or not self._passages:
            return Sentence(text)
        if sentence.kind == "table":
            return self._checked_table(sentence)
        # Names are the same in every language.
        self._reply_words += [word for word in split_words(sentence.text) if word in sentence.text]
        verdict = self._verdict(sentence.text, sentence.numbers)
        if verdict.is_supported:
            return Sentence(text, verdict.citations, True)
        if is_refusal(sentence):
            return Sentence(text)
        shared = sum(word in self._vocabulary for word in self._reply_words)
        count = len(self._reply_words)
        if count >= _MIN_LANGUAGE_WORDS and shared < _MIN_SHARED_WORDS * count:
            named = [self._passages[number - 1].passage for number in sentence.numbers]
            citations = tuple(Citation(passage.id) for passage in named)
            return Sentence(
                text,
                citations,
                None,
                "in another language than the passages",
            )
        if not verdict.reason and self._check(sentence.text, self._earlier).is_supported:
            return Sentence(text, (), None, "from earlier in the conversation")
        return Sentence(text, (), False, verdict.reason)

    def _checked_table(self, table: ReplySentence) -> Sentence:
        """Check a table row by row. It is supported if all its rows are."""
        citations: dict[Citation, None] = {}
        missing = []
        for number, row in enumerate(table.rows, 1):
            verdict = self._verdict(row.text, row.numbers or table.numbers)
            citations |= dict.fromkeys(verdict.citations)
            if not verdict.is_supported:
                missing.append(str(number))
        reason = f"row {', '.join(missing)}" if missing else ""
        return Sentence(table.text, tuple(citations), not missing, reason)

    def _verdict(self, text: str, numbers: Sequence[int]) -> _Verdict:
        """Check a sentence against the passages with these numbers and, failing that, against each of the others."""
        verdict = self._check(text, [one for number in numbers for one in self._evidence[number - 1]])
        others = [part for number, part in enumerate(self._evidence, 1) if number not in numbers]
        for part in others:
            if verdict.is_supported:
                break
            elsewhere = self._check(text, part)
            if elsewhere.is_supported:
                self.notes.append("citation moved" if numbers else "citation added")
            if elsewhere.is_supported or not (numbers or verdict.reason):
                verdict = elsewhere
        if verdict.is_supported:
            self._numbers |= {word.token for word in support_words(text, self._language) if word.is_number}
        return verdict

    def _check(self, text: str, evidence: Sequence[Evidence]) -> _Verdict:
        plain = _VERDICT.sub("", text)
        said = self._named(plain)
        words = [word for word in said if word.is_content]
        chosen = _chosen({word.token: word.weight for word in words}, evidence)
        if not chosen:
            return _Verdict()
        reasons = self._misplaced(said, evidence, chosen)
        if reasons:
            return _Verdict(reason=max(reasons, key=len))
        evident = frozenset().union(*(one.all for one in chosen))
        # Numbers without evidence follow from others.
        needed = [word for word in words if word.token in evident or not word.is_number]
        weights = {word.token: word.weight * (_TOPIC_WEIGHT if word.token in self._topic else 1) for word in needed}
        names = {word.token for word in words if word.is_name}
        stated = {word.token: word.weight for word in words if not (word.is_number or word.token in names)}
        enough = (
            part_of(weights, evident) >= _MIN_SHARE
            and max(part_of(weights, one.all) for one in chosen) >= _MIN_SINGLE
            and (not stated or part_of(stated, evident) >= _MIN_STATED)
        )
        if not enough or not names <= evident | self._topic:
            return _Verdict()
        opposite = _opposite(
            clauses_of(plain, self._language),
            chosen,
            plain != text,
        )
        if opposite:
            return _Verdict(reason=opposite.said)
        citations = [Citation(one.passage.id, one.unit.start, one.unit.end) for one in chosen]
        return _Verdict(True, tuple(citations))

    def _named(self, text: str) -> Sequence[SupportWord]:
        """Return the words of a sentence. Its first one is a name if the passages have it as one."""
        words = list(support_words(text, self._language))
        is_capital = text[:1].isupper()
        if is_capital and words and words[0].token in self._names:
            words[0] = words[0]._replace(is_name=True)
        named = []
        for word in words:
            is_name = word.is_name and not word.is_number
            named.append(word._replace(is_name=is_name))
        return named

    def _is_of_a_name(self, words: Sequence[SupportWord], position: int) -> bool:
        """Return whether a number is part of a name that the passages have, such as "Model 3", and counts nothing."""
        before = words[position - 1] if position else None
        if before is None or not before.is_name or before.token in _DATE_NAMES:
            return False
        return (before.token, words[position].token) in self._models

    def _misplaced(
        self,
        words: Sequence[SupportWord],
        evidence: Sequence[Evidence],
        chosen: list[Evidence],
    ) -> list[str]:
        """Return a reason for each number and name that is not in its place, "" if the passages say nothing instead."""
        reasons = []
        for position, word in enumerate(words):
            is_free = word.token in (self._asked if word.is_number else self._topic)
            if is_free or not (word.is_number or word.is_name) or self._is_of_a_name(words, position):
                continue
            place = self._number_reason if word.is_number else self._name_reason
            reason = place(words, position, evidence, chosen)
            if reason is not None:
                reasons.append(reason)
        return reasons

    def _number_reason(
        self,
        words: Sequence[SupportWord],
        position: int,
        evidence: Sequence[Evidence],
        chosen: list[Evidence],
    ) -> str | None:
        """Return None for a number in its place, whose unit is added to the chosen ones, else the passages' number."""
        token = words[position].token
        near = _near(words, token)
        claimed = {word.token for word in words}
        best = _best([one for one in evidence if token in one.all], near)
        rival = _best([one for one in evidence if token not in one.own and one.counted], near)
        if best:
            instead = _other_column(
                token,
                best,
                claimed,
            )
            if instead:
                return _says(instead)
            # A number of a table's header or of a heading, or of a row that is named.
            if best in chosen and (token not in best.own or best.is_named(claimed)):
                return None
            is_counted = _is_counted(
                token,
                counted_by(words, position),
                evidence,
            )
            if is_counted and _is_in_place(best, rival, near):
                if not any(token in one.own for one in chosen):
                    chosen.append(best)
                return None
        numbers = {word.token for word in words if word.is_number}
        if _is_computed(token, (numbers | self._asked | self._numbers) - {token}):
            return None
        noun = counted_by(words, position)
        others = rival.counted if rival and rival.fit(near) else {}
        alike = {other for other, nouns in others.items() if noun.issubset(nouns) or not nouns}
        return _says(alike - numbers)

    def _name_reason(
        self,
        words: Sequence[SupportWord],
        position: int,
        evidence: Sequence[Evidence],
        chosen: list[Evidence],
    ) -> str | None:
        """Return None for a name in its place, or that no passage has, else the unit with another name there."""
        token = words[position].token
        near = _near(words, token)
        best = _best([one for one in evidence if token in one.all], near)
        rival = _best([one for one in evidence if token not in one.own and one.own & self._names], near)
        if best is None or rival is None or _is_in_place(best, rival, near):
            return None
        if _leads_to(best, rival, evidence) or _leads_to(rival, best, evidence):
            return None
        claimed = {word.token for word in words}
        is_named = best in chosen and best.is_named(claimed)
        return None if is_named else rival.said


def _near(words: Sequence[SupportWord], token: str) -> Weights:
    """Return the other content words of a sentence."""
    return {word.token: word.weight for word in words if word.is_content and word.token != token}


def _best(evidence: Sequence[Evidence], words: Weights) -> Evidence | None:
    """Return the unit with most of the words, None of none."""
    return max(evidence, key=lambda one: one.fit(words), default=None)


def _chosen(words: Weights, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the unit with most of the words, and up to two others that each add some."""
    chosen: list[Evidence] = []
    least = 0.0
    while evidence and len(chosen) < _MAX_UNITS:
        best = max(evidence, key=lambda one: one.fit(words))
        if best.fit(words) <= least:
            break
        least = least or _MIN_GAIN * sum(words.values())
        chosen.append(best)
        words = {token: weight for token, weight in words.items() if token not in best.all}
    return chosen


def _is_counted(
    number: str,
    noun: frozenset[str],
    evidence: Sequence[Evidence],
) -> bool:
    """Return whether a number counts in a passage what it counts in a sentence, unless no number does so."""
    own = [one.counted[number] for one in evidence if number in one.counted]
    if not noun or any(noun.issubset(words) or not words for words in own):
        return True
    return not any(noun.issubset(words) for one in evidence for words in one.counted.values())


def _is_in_place(
    best: Evidence,
    rival: Evidence | None,
    near: Weights,
) -> bool:
    """Return whether the unit of a word has the words beside it as well as a rival does.

    Of rows, the words that only one of the two has decide.
    """
    if rival and best.unit.kind == rival.unit.kind == "row":
        return weight(near, best.own - rival.own) >= weight(near, rival.own - best.own)
    return rival is None or best.fit(near) >= _MIN_PLACE * rival.fit(near)


def _other_column(number: str, row: Evidence, claimed: Collection[str]) -> frozenset[str]:
    """Return the numbers of the column that a sentence names, if its number is in one that it does not name."""
    for own in row.cells:
        if number in own.numbers and own.form and own.header and own.header.isdisjoint(claimed):
            for cell in row.cells:
                if cell.form == own.form and not cell.header.isdisjoint(claimed) and cell.numbers.isdisjoint(claimed):
                    return cell.numbers
    return frozenset()


def _leads_to(
    first: Evidence,
    second: Evidence,
    evidence: Sequence[Evidence],
) -> bool:
    """Return whether a unit follows shortly on another and refers to it: "It must be sent back"."""
    if first.passage is not second.passage or "row" in (first.unit.kind, second.unit.kind):
        return False
    is_next = 0 < evidence.index(second) - evidence.index(first) <= _MAX_REFERENCE
    return is_next and not second.own.isdisjoint(_REFERRING)


def _says(numbers: Collection[str]) -> str:
    """Return what the passages say instead of a number, "" unless it is one."""
    return f"the passages say {min(numbers)}" if len(numbers) == 1 else ""


def _is_computed(number: str, known: Collection[str]) -> bool:
    """Return whether a number is the sum, difference or product of two or three others.

    >>> _is_computed("30", ["25", "5"]), _is_computed("31", ["25", "5"])
    (True, False)
    """
    if not _DECIMAL.fullmatch(number):
        return False
    result = float(number)
    values = [float(value) for value in known if _DECIMAL.fullmatch(value)]
    groups = [*combinations(values, 2), *combinations(values, 3)]
    return any(result in (sum(group), prod(group), max(group) * 2 - sum(group)) for group in groups)


def _opposite(
    clauses: Sequence[Clause],
    chosen: Sequence[Evidence],
    is_verdict: bool,
) -> Evidence | None:
    """Return a unit that says the opposite of a clause, or the first unit if only the sentence denies anything.

    What follows "Yes" or "No" may be concluded, so that it may deny what no unit does.
    """
    for clause in clauses:
        if len(clause.words) < _MIN_CLAUSE_WORDS or clause.is_condition:
            continue
        same = 0.0
        against = [(0.0, chosen[0])]
        for one in chosen:
            for other in one.clauses:
                common = part_of(clause.words, other.words)
                likeness = _likeness(clause, other)
                if other.is_negated == clause.is_negated:
                    if clause.is_negated and next(iter(clause.scope)) in other.scope:
                        same = 1.0
                    same = max(same, likeness, common if clause.is_negated else 0.0)
                else:
                    opposition = min(likeness, common)
                    against.append((opposition, one))
        likeness, unit = max(against, key=lambda pair: pair[0])
        least = _MIN_CONCLUSION if is_verdict else _MIN_CLAUSE
        outweighs = likeness > same or (is_verdict and likeness == same)
        if likeness >= least and outweighs:
            return unit
    is_denied = any(one.is_negated for one in chosen)
    if any(clause.is_negated and not clause.is_condition for clause in clauses) and not (is_denied or is_verdict):
        return chosen[0]
    return None


def _likeness(clause: Clause, other: Clause) -> float:
    """Return the share of a clause that another has; of what is negated, if one of them is negated."""
    if clause.is_negated:
        return part_of(clause.scope, other.words)
    return min(part_of(other.scope, clause.words), part_of(clause.words, other.words))


@lru_cache(256)
def _word_runs(text: str) -> frozenset[tuple[str, ...]]:
    tokens = split_words(text)
    starts = range(len(tokens) - _INSTRUCTION_RUN_WORDS + 1)
    return frozenset(tuple(tokens[start : start + _INSTRUCTION_RUN_WORDS]) for start in starts)
