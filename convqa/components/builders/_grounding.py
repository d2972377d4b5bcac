"""Grounding of generated sentences: which units of the passages support them, and what the passages say instead.

A sentence is compared with the passages as the model saw them, with title, headings and header rows. It is supported by
up to three units, anywhere in these passages, that have most of its content words, all of its numbers and names, and no
clause that says the opposite. Words in the question, and numbers that follow from others, need no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from convqa.components.builders._addresses import foreign
from convqa.components.builders._prompt import PassagePart
from convqa.components.builders._reply import ReplySentence, is_refusal, rows, without_markers
from convqa.domain import Citation, Passage, Sentence, Turn, Unit
from convqa.text.cache import remembered
from convqa.text.support import SupportWord, support_words
from convqa.text.units import units
from convqa.text.words import listed
from convqa.text.words import words as split_words

_MAX_UNITS = 3
"""How many units may support a sentence together."""

_MIN_SHARE = 0.5
"""Minimum share of a sentence's content words, by weight, that its evidence has."""

_MIN_GAIN = 0.07
"""Minimum share that a further unit adds."""

_MIN_PLACE = 0.45
"""How well a number's unit fits the words beside the number, relative to the best unit with another number."""

_MIN_CLAUSE = 0.6
"""Minimum share of a clause's words in the clause of the passage that it is compared with."""

_MAX_HEADINGS = 3
"""How many headings before a unit are its context, as the levels of a text's headings may be unknown."""

_MAX_SCOPE = 4
"""How many content words after a negation it negates."""

_MAX_SAID_CHARS = 120
_MIN_WORDS_OF_LANGUAGE = 5
_MAX_SHARED_WORDS = 0.2
"""A reply in the language of the passages has more words in common with them."""

_INSTRUCTION_RUN_WORDS = 8
"""A sentence that shares this many consecutive words with the instruction repeats it."""

_CLAUSE = re.compile(
    r"[.,;:!?()\u2013\u2014]+(?=\s|$)|[\n|\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]"
    r"|\s(?:but|because|although|though|while|whereas|if|unless|when|except|aber|weil|wenn|obwohl|sondern)\s",
    re.I,
)
_VERDICT = re.compile(r"\A\W*(?:so\s+)?(yes|no|ja|nein)\b[\s,.:;!\u2013\u2014-]*", re.I)
_OPPOSITES = listed("forbidden prohibited banned impossible unable excluded refuse refused fail fails lack lacks")
"""Words that negate a clause without being negations."""


class _Verdict(NamedTuple):
    """The outcome of the check of one sentence: its citations, or why it has none."""

    citations: tuple[Citation, ...] = ()
    is_supported: bool = False
    reason: str = ""


class _Clause(NamedTuple):
    """A clause's content words, whether it is negated, and the words that are negated (all words of a positive one)."""

    weights: dict[str, float]
    is_negated: bool
    scope: dict[str, float]


class _Evidence(NamedTuple):
    """A unit of a passage: its own tokens, and those of its context."""

    passage: Passage
    unit: Unit
    tokens: frozenset[str]
    context: frozenset[str]
    numbers: frozenset[str]
    clauses: tuple[_Clause, ...]

    @property
    def text(self) -> str:
        return " ".join(self.passage.text[self.unit.start : self.unit.end].split())


class Grounding:
    """The passages of a prompt, prepared to check the sentences of a reply against them.

    ``notes`` counts changed citations.

    :param question: the question and its rewrite. Its numbers and names need no evidence.
    """

    def __init__(self, passages: Sequence[PassagePart], question: str, turn: Turn) -> None:
        language = self._language = turn.language
        self._passages = passages
        self._evidence = [list(_evidence(part, language)) for part in passages]
        self._texts = [text for part in passages for text in (part.text, part.passage.title, part.passage.url)]
        self._said = [
            one
            for exchange in turn.history
            for one in _evidence(PassagePart(Passage("", exchange.answer), 0, len(exchange.answer)), language)
        ]
        earlier = " ".join(f"{exchange.question} {exchange.answer}" for exchange in turn.history)
        self._asked = _tokens(question, language)
        self._topic = self._asked | _tokens(earlier, language)
        self._vocabulary = set(split_words(" ".join([question, *self._texts])))
        self._numbers: set[str] = set()
        self._reply_words: list[str] = []
        self._names = {word.token for text in self._texts for word in support_words(text, language) if word.is_name}
        self.notes: list[str] = []

    def fault(self, text: str, instruction: str) -> str:
        """Return why a sentence is left out, or ""."""
        if foreign(text, self._texts):
            return "it had an address that no passage has"
        if not _word_runs(text).isdisjoint(_word_runs(instruction)):
            return "it repeated an instruction"
        return ""

    def checked(self, sentence: ReplySentence) -> Sentence:
        """Return a sentence with its citations, or marked. The frame of others, and refusals, need no support."""
        text = f"{sentence.mark} {sentence.text}".strip()
        if sentence.kind == "frame":
            return Sentence(text)
        if sentence.kind == "table":
            return self._checked_table(sentence)
        self._reply_words += split_words(sentence.text)
        verdict = self._verdict(sentence.text, sentence.numbers)
        if verdict.is_supported:
            return Sentence(text, verdict.citations, True)
        if is_refusal(sentence):
            return Sentence(text)
        if self._is_in_other_language():
            citations = tuple(Citation(self._passages[number - 1].passage.id) for number in sentence.numbers)
            return Sentence(text, citations, None, "in another language than the passages")
        if not verdict.reason and self._check(sentence.text, self._said).is_supported:
            return Sentence(text, (), None, "from earlier in the conversation")
        return Sentence(text, (), False, verdict.reason)

    def _checked_table(self, table: ReplySentence) -> Sentence:
        """Check a table row by row. It is supported if all its rows are."""
        citations: dict[Citation, None] = {}
        missing = []
        for number, (row, numbers) in enumerate(rows(table.text, len(self._passages)), 1):
            verdict = self._verdict(row, numbers or table.numbers)
            citations |= dict.fromkeys(verdict.citations)
            if not verdict.is_supported:
                missing.append(str(number))
        text = without_markers(table.text, len(self._passages))
        reason = f"row {', '.join(missing)}" if missing else ""
        return Sentence(text, tuple(citations), not missing, reason)

    def _is_in_other_language(self) -> bool:
        """Return whether the reply so far shares next to no words with the passages, not even frequent ones."""
        words = self._reply_words
        shared = sum(word in self._vocabulary for word in words)
        return len(words) >= _MIN_WORDS_OF_LANGUAGE and shared < _MAX_SHARED_WORDS * len(words)

    def _verdict(self, text: str, numbers: Sequence[int]) -> _Verdict:
        """Check a sentence against the passages with these numbers and, failing that, against each of the others."""
        verdict = self._check(text, [one for number in numbers for one in self._evidence[number - 1]])
        if not verdict.is_supported:
            words = [word for word in support_words(text, self._language) if word.is_content]
            weights = {word.token: word.weight for word in words}
            others = [part for number, part in enumerate(self._evidence, 1) if number not in numbers]
            others.sort(key=lambda part: -_share(weights, self._chosen(words, part)))
            for part in others:
                elsewhere = self._check(text, part)
                if elsewhere.is_supported:
                    self.notes.append("citation moved" if numbers else "citation added")
                    verdict = elsewhere
                    break
                if not numbers and not verdict.reason:
                    verdict = elsewhere
        if verdict.is_supported:
            self._numbers |= {word.token for word in support_words(text, self._language) if word.is_number}
        return verdict

    def _check(self, text: str, evidence: Sequence[_Evidence]) -> _Verdict:
        plain = _VERDICT.sub("", text)
        words = [word for word in support_words(plain, self._language) if word.is_content]
        if not words:
            return _Verdict()
        chosen = self._chosen(words, evidence)
        misplaced = self._misplaced(words, evidence, chosen)
        if misplaced is not None:
            return _Verdict(reason=misplaced)
        if not self._has_words(words, chosen) or not self._has_names(words, chosen):
            return _Verdict()
        opposite = _opposite(_clauses(plain, self._language), chosen, bool(_VERDICT.match(text)))
        if opposite:
            return _Verdict(reason=f'the passages say "{opposite}"')
        return _Verdict(tuple(_citations(chosen)), is_supported=True)

    def _has_words(self, words: Sequence[SupportWord], chosen: Sequence[_Evidence]) -> bool:
        """Return whether the chosen units have enough words of a sentence. Words of the conversation count half."""
        weights = {word.token: word.weight * (0.5 if word.token in self._topic else 1.0) for word in words}
        return _share(weights, chosen) >= _MIN_SHARE

    def _chosen(self, words: Sequence[SupportWord], evidence: Sequence[_Evidence]) -> list[_Evidence]:
        """Return the unit with most of the words, and up to two others that add some."""
        weights = {word.token: word.weight for word in words}
        total = sum(weights.values())
        chosen: list[_Evidence] = []
        while len(chosen) < _MAX_UNITS and weights:
            scores = [_overlap(weights, one) for one in evidence]
            best = max(range(len(scores)), key=scores.__getitem__, default=None)
            if best is None or scores[best] <= (_MIN_GAIN * total if chosen else 0):
                break
            chosen.append(evidence[best])
            covered = evidence[best].tokens | evidence[best].context
            weights = {token: weight for token, weight in weights.items() if token not in covered}
        return chosen

    def _misplaced(
        self, words: Sequence[SupportWord], evidence: Sequence[_Evidence], chosen: list[_Evidence]
    ) -> str | None:
        """Return what the passages say instead of a number ("" if nothing), or None if all numbers are in their place.

        The units of numbers are added to the chosen ones.
        """
        claimed = {word.token for word in words if word.is_number}
        for position, word in enumerate(words):
            number = word.token
            if not word.is_number or number in self._asked:
                continue
            near = _near(words, position)
            having = [one for one in evidence if number in one.numbers or number in one.context]
            best = max(having, key=lambda one: _fit(near, one), default=None)
            others = [one for one in evidence if one.numbers and number not in one.numbers]
            rival = max(others, key=lambda one: _fit(near, one), default=None)
            if best is None or (near and not _fit(near, best)):
                if _computed(number, (claimed | self._numbers | self._asked) - {number}):
                    continue
                return _said(rival, claimed, near)
            if rival is not None and _fit(near, best) < _MIN_PLACE * _fit(near, rival):
                return _said(rival, claimed, near)
            if best not in chosen and not any(number in one.numbers for one in chosen):
                chosen.append(best)
        return None

    def _has_names(self, words: Sequence[SupportWord], chosen: Sequence[_Evidence]) -> bool:
        """Return whether the chosen units, or the beginnings of their passages, have all new names."""
        names = {word.token for word in words if word.is_name or word.token in self._names} - self._topic
        names -= {word.token for word in words if word.is_number}
        for one in chosen:
            names -= one.tokens | one.context
        firsts = {one.passage.id: one for part in self._evidence for one in reversed(part)}
        for one in chosen:
            names -= firsts[one.passage.id].tokens
        return not names


def _evidence(part: PassagePart, language: str) -> Iterator[_Evidence]:
    """Yield the units of a passage's part, headings too. A table without a header has its first row as one."""
    passage = part.passage
    header = ""
    headings: list[str] = []
    before = None
    for unit in units(passage, language):
        if unit.kind == "row" and before != "row":
            header = passage.text[unit.start : unit.end]
        before = unit.kind
        if unit.kind == "heading":
            headings = [*headings, passage.text[unit.start : unit.end]][-_MAX_HEADINGS:]
        if unit.start < part.start or unit.end > part.end:
            continue
        above = [passage.title, unit.heading, unit.context, *headings]
        if unit.kind == "row" and not unit.context:
            above.append(header)
        text = passage.text[unit.start : unit.end]
        words = support_words(text, language)
        yield _Evidence(
            passage,
            unit,
            frozenset(word.token for word in words),
            frozenset(word.token for word in support_words("\n".join(above), language)),
            frozenset(word.token for word in words if word.is_number),
            tuple(_clauses(text, language)),
        )


def _clauses(text: str, language: str) -> list[_Clause]:
    """Return the clauses of a text. "No." negates the clause before it, and "others are not" has its predicate."""
    clauses: list[_Clause] = []
    for clause in _CLAUSE.split(text):
        words = support_words(clause, language)
        content = {word.token: word.weight for word in words if word.is_content}
        negations = [place for place, word in enumerate(words) if word.is_negation or word.token in _OPPOSITES]
        is_negated = len(negations) % 2 == 1
        before = clauses[-1] if clauses else None
        if not content and is_negated and before:
            clauses[-1] = before._replace(is_negated=not before.is_negated)
        elif content:
            scope = content
            if is_negated:
                after = words[negations[0] + 1 :]
                scope = {word.token: word.weight for word in after if word.is_content}
                if not scope and before:
                    scope = content | before.weights
                scope = dict(list(scope.items())[:_MAX_SCOPE])
            clauses.append(_Clause(content | scope, is_negated, scope))
    return clauses


def _overlap(weights: dict[str, float], one: _Evidence) -> float:
    """Return the weight of the words that a unit and its context have; 0 if only the context has any."""
    own = sum(weight for token, weight in weights.items() if token in one.tokens)
    if not own:
        return 0.0
    above = sum(weight for token, weight in weights.items() if token in one.context and token not in one.tokens)
    return own + 0.9 * above


def _share(weights: dict[str, float], chosen: Sequence[_Evidence]) -> float:
    total = sum(weights.values())
    covered = sum(
        weight
        for token, weight in weights.items()
        if any(token in one.tokens or token in one.context for one in chosen)
    )
    return covered / total if total else 0.0


def _near(words: Sequence[SupportWord], position: int) -> dict[str, float]:
    """Return the other words with weights that fall with their distance from a position."""
    near: dict[str, float] = {}
    for other, word in enumerate(words):
        if other != position and not word.is_number:
            near[word.token] = max(near.get(word.token, 0.0), word.weight / (1 + abs(other - position)))
    return near


def _fit(near: dict[str, float], one: _Evidence) -> float:
    own = sum(weight for token, weight in near.items() if token in one.tokens)
    above = sum(weight for token, weight in near.items() if token in one.context and token not in one.tokens)
    return own + 0.5 * above


def _said(rival: _Evidence | None, claimed: set[str], near: dict[str, float]) -> str:
    """Return the only number that a unit has in the place of another one."""
    if rival is None or not _fit(near, rival):
        return ""
    instead = rival.numbers - claimed
    return f"the passages say {min(instead)}" if len(instead) == 1 else ""


def _computed(number: str, known: Iterable[str]) -> bool:
    """Return whether a number is the sum, difference or product of two or three others.

    >>> _computed("30", ["25", "5"]), _computed("31", ["25", "5"])
    (True, False)
    """
    try:
        result = float(number)
        values = [float(value) for value in known]
    except ValueError:
        return False
    for first, second in combinations(values, 2):
        if result in (first + second, abs(first - second), first * second):
            return True
    return any(result in (sum(three), three[0] * three[1] * three[2]) for three in combinations(values, 3))


def _opposite(clauses: Iterable[_Clause], chosen: Sequence[_Evidence], is_verdict: bool) -> str:
    """Return the text of the unit whose nearest clause says the opposite of a clause, or ""."""
    for clause in clauses:
        same = against = 0.0
        unit = ""
        for one in chosen:
            for other in one.clauses:
                likeness = _likeness(clause, other)
                if other.is_negated == clause.is_negated:
                    same = max(same, likeness)
                elif likeness > against:
                    against = likeness
                    unit = one.text
        if against >= _MIN_CLAUSE and (against > same or (is_verdict and against == same)):
            return unit if len(unit) <= _MAX_SAID_CHARS else f"{unit[:_MAX_SAID_CHARS].rsplit(' ', 1)[0]} ..."
    return ""


def _likeness(clause: _Clause, other: _Clause) -> float:
    """Return the share of a clause that another has; of what is negated, if one of them is negated."""
    if clause.is_negated:
        return _part(clause.scope, other.weights)
    if other.is_negated:
        return min(_part(other.scope, clause.weights), _part(clause.weights, other.weights))
    return _part(clause.weights, other.weights)


def _part(weights: dict[str, float], others: dict[str, float]) -> float:
    total = sum(weights.values())
    return sum(weight for token, weight in weights.items() if token in others) / total if total else 0.0


def _citations(chosen: Sequence[_Evidence]) -> Iterator[Citation]:
    """Yield citations of units, neighbors as one, best first."""
    spans: dict[tuple[str, int, int], None] = {}
    for one in chosen:
        start, end = one.unit.start, one.unit.end
        for id, first, last in list(spans):
            gap = one.passage.text[min(last, end) : max(first, start)]
            if id == one.passage.id and not gap.strip():
                start, end = min(first, start), max(last, end)
                del spans[id, first, last]
        spans[one.passage.id, start, end] = None
    for id, start, end in spans:
        yield Citation(id, start, end)


def _tokens(text: str, language: str) -> set[str]:
    return {word.token for word in support_words(text, language)}


@remembered(256)
def _word_runs(text: str) -> frozenset[tuple[str, ...]]:
    tokens = split_words(text)
    starts = range(len(tokens) - _INSTRUCTION_RUN_WORDS + 1)
    return frozenset(tuple(tokens[start : start + _INSTRUCTION_RUN_WORDS]) for start in starts)
