"""Grounding of generated sentences: whether passages support them, and which sentences of the passages do."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from convqa.components.builders._addresses import foreign
from convqa.components.builders._prompt import INSTRUCTION, AnswerLimits, PassagePart
from convqa.components.builders._reply import CONTINUED, ReplySentence
from convqa.domain import Citation, Sentence
from convqa.errors import InputError
from convqa.text.sentences import sentences
from convqa.text.support import CAP, POWER, SUPPORTED, lexical_support
from convqa.text.words import words

Unsupported = Literal["drop", "mark"]
"""Treatment of an unsupported sentence: omitted, or kept without a citation."""

Scorer = Callable[[Sequence[tuple[str, str]], str], Sequence[float]]
"""(evidence, sentence) pairs and their language -> the support of each sentence, from 0 to 1."""

ITEM_LEFT_OUT = "item left out"
"""The note of an omitted list item."""

_MIN_GAIN = 0.02
"""Minimum support that a neighboring sentence must add to a quote."""

_INSTRUCTION_RUN_WORDS = 8
"""A sentence that shares this many consecutive words with the instruction repeats it."""


class CheckedReply(NamedTuple):
    """The accepted sentences, and notes on the others and on changed citations, for a run's summary."""

    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...]


class _Quote(NamedTuple):
    """The best quote of a passage for a sentence, and its text with the title as evidence."""

    citation: Citation
    evidence: str


def check(
    reply: Sequence[ReplySentence],
    passages: Sequence[PassagePart],
    scorer: Scorer,
    language: str,
    unsupported: Unsupported,
    limits: AnswerLimits,
) -> CheckedReply:
    """Check the sentences of a reply against the passages that the model was shown, and keep the first good ones.

    A sentence cites each named passage that supports it alone, otherwise the named passages that support it
    together. Failing that, it cites the best of the other passages, if that supports it. A citation quotes the best
    sentence of its passage, with a neighbor if that adds support. List items keep their marks, so that numbers of
    omitted items are missing. Sentences with an address that no passage contains, and those that repeat the
    instruction, are always omitted.
    """
    kept: list[Sentence] = []
    notes: list[str] = []
    passage_texts = [text for part in passages for text in (part.text, part.passage.title, part.passage.url)]
    mark = ""
    prose_count = 0
    for sentence in reply:
        is_prose = not sentence.item
        if sentence.item != CONTINUED:
            mark = sentence.item
        if len(kept) == max(limits) or (is_prose and prose_count == limits.sentences):
            continue
        fault = _fault(sentence.text, passage_texts)
        citations: tuple[Citation, ...] = ()
        if not fault:
            citations, note = _citations(
                sentence,
                passages,
                scorer,
                language,
            )
            if note:
                notes.append(note)
        if not fault and (citations or unsupported == "mark"):
            kept.append(Sentence(f"{mark} {sentence.text}".strip(), citations))
            mark = ""
            prose_count += is_prose
            continue
        if fault:
            notes.append(fault)
        if sentence.item:
            notes.append(ITEM_LEFT_OUT)
    return CheckedReply(tuple(kept), tuple(notes))


def _fault(text: str, passage_texts: Sequence[str]) -> str:
    """Return why a sentence is always omitted, or ""."""
    if foreign(text, passage_texts):
        return "foreign address"
    if not _word_runs(text).isdisjoint(_INSTRUCTION_RUNS):
        return "instruction repeated"
    return ""


def _citations(
    sentence: ReplySentence,
    passages: Sequence[PassagePart],
    scorer: Scorer,
    language: str,
) -> tuple[tuple[Citation, ...], str]:
    """Return the citations of a sentence and a note."""
    text = sentence.text
    named = [passages[number - 1] for number in sentence.numbers]
    supporting = _supporting(
        _quotes(named, text, language),
        text,
        scorer,
        language,
    )
    if supporting:
        return tuple(quote.citation for quote in supporting), ""
    others = [part for number, part in enumerate(passages, 1) if number not in sentence.numbers]
    quotes = _quotes(others, text, language)
    if quotes:
        scores = _scores(
            quotes,
            text,
            scorer,
            language,
        )
        best = max(range(len(quotes)), key=scores.__getitem__)
        if scores[best] >= SUPPORTED:
            return (quotes[best].citation,), "citation moved" if named else "citation added"
    return (), "unsupported sentence"


def _scores(
    quotes: Sequence[_Quote],
    text: str,
    scorer: Scorer,
    language: str,
) -> Sequence[float]:
    return scorer([(quote.evidence, text) for quote in quotes], language)


def _supporting(
    quotes: Sequence[_Quote],
    text: str,
    scorer: Scorer,
    language: str,
) -> list[_Quote]:
    """Return the quotes that each support the text, otherwise a minimal set that supports it, otherwise []."""

    def supports(quotes: Sequence[_Quote]) -> bool:
        evidence = "\n".join(quote.evidence for quote in quotes)
        return scorer([(evidence, text)], language)[0] >= SUPPORTED

    if not quotes:
        return []
    scores = _scores(
        quotes,
        text,
        scorer,
        language,
    )
    alone = [quote for quote, score in zip(quotes, scores, strict=True) if score >= SUPPORTED]
    if alone or len(quotes) == 1:
        return alone
    if not supports(quotes):
        return []
    together = list(quotes)
    for quote in reversed(quotes):
        rest = [other for other in together if other is not quote]
        if len(rest) > 1 and supports(rest):
            together = rest
    return together


def _quotes(parts: Sequence[PassagePart], text: str, language: str) -> list[_Quote]:
    quotes = [_quote(part, text, language) for part in parts]
    return [quote for quote in quotes if quote is not None]


def _quote(part: PassagePart, text: str, language: str) -> _Quote | None:
    """Return the sentence of a passage's part with most words of the text, with a neighbor that adds some.

    Quotes are always chosen by words; the scorer only rates the chosen one.
    """
    passage = part.passage
    bounds = [(part.start + start, part.start + end) for start, end in sentences(part.text, language)]
    if not bounds:
        return None

    def evidence(first: int, last: int) -> str:
        quoted = passage.text[bounds[first][0] : bounds[last][1]]
        return f"{passage.title}\n{quoted}" if passage.title else quoted

    def score(first: int, last: int) -> float:
        return word_support([(evidence(first, last), text)], language)[0]

    first = last = max(range(len(bounds)), key=lambda index: score(index, index))
    best = score(first, last)
    if first > 0:
        wider = score(first - 1, last)
        if wider > best + _MIN_GAIN:
            first -= 1
            best = wider
    if last < len(bounds) - 1:
        wider = score(first, last + 1)
        if wider > best + _MIN_GAIN:
            last += 1
            best = wider
    # The text must not be supported by the title alone, which cannot be quoted.
    if passage.title:
        title_score = word_support([(passage.title, text)], language)[0]
        if title_score >= SUPPORTED and best <= title_score:
            return None
    return _Quote(Citation(passage.id, bounds[first][0], bounds[last][1]), evidence(first, last))


def _word_runs(text: str) -> frozenset[tuple[str, ...]]:
    tokens = words(text)
    starts = range(len(tokens) - _INSTRUCTION_RUN_WORDS + 1)
    return frozenset(tuple(tokens[start : start + _INSTRUCTION_RUN_WORDS]) for start in starts)


_INSTRUCTION_RUNS = _word_runs(INSTRUCTION)


def word_support(pairs: Sequence[tuple[str, str]], language: str) -> list[float]:
    """Return ``lexical_support`` of (evidence, sentence) pairs, by surface words in languages without an analyzer.

    Without stems, stop words, negation and idf, words are weighted by their length, because frequent words are short in
    every language (Zipf). Ideographs are compared as bigrams. A number that the evidence lacks caps the score.

    >>> evidence = "Goethe a écrit Faust à Weimar."
    >>> word_support([(evidence, "Goethe écrit Faust."), (evidence, "Goethe est né.")], "fr")  # doctest: +ELLIPSIS
    [1.0, 0.40...]
    """
    try:
        return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]
    except InputError:
        return [_surface_support(evidence, sentence) for evidence, sentence in pairs]


def _surface_support(evidence: str, sentence: str) -> float:
    needed = _surface_units(sentence)
    shared = needed & _surface_units(evidence)
    total = sum(map(len, needed))
    if not total:
        return 0.0
    score: float = (sum(map(len, shared)) / total) ** POWER
    lacks_number = any(unit[0].isdecimal() for unit in needed - shared)
    return min(score, CAP) if lacks_number else score


def _surface_units(text: str) -> set[str]:
    """Return the words of a text, and bigrams of ideographs, or single ones."""
    units = set()
    ideographs = ""
    for word in [*words(unicodedata.normalize("NFKC", text)), ""]:
        if len(word) == 1 and not word.isascii():
            ideographs += word
            continue
        if ideographs:
            starts = range(max(1, len(ideographs) - 1))
            units |= {ideographs[start : start + 2] for start in starts}
            ideographs = ""
        if word:
            units.add(word)
    return units
