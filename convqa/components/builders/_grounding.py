"""Grounding of generated sentences: whether passages support them, and which sentences of the passages do."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from convqa.components.builders._addresses import foreign
from convqa.components.builders._prompt import INSTRUCTION, Most, Shown
from convqa.components.builders._reply import GOES_ON, Claim
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

_GAIN = 0.02
"""Minimum support that a neighboring sentence must add to a quote."""

_RUN = 8
"""A sentence that shares this many consecutive words with the instruction repeats it."""


class Checked(NamedTuple):
    """The accepted sentences, and notes on the others and on changed citations, for a run's summary."""

    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...]


class _Quote(NamedTuple):
    """The best quote of a passage for a sentence, and its text with the title as evidence."""

    citation: Citation
    evidence: str


def check(
    claims: Sequence[Claim], shown: Sequence[Shown], scorer: Scorer, language: str, unsupported: Unsupported, most: Most
) -> Checked:
    """Check the sentences of a reply against the passages that the model was shown, and keep the first good ones.

    A sentence cites each named passage that supports it alone, otherwise the named passages that support it
    together. Failing that, it cites the best of the other passages, if that supports it. A citation quotes the best
    sentence of its passage, with a neighbor if that adds support. List items keep their marks, so that numbers of
    omitted items are missing. Sentences with an address that no passage contains, and those that repeat the
    instruction, are always omitted.
    """
    kept: list[Sentence] = []
    notes: list[str] = []
    known = [text for part in shown for text in (part.text, part.passage.title, part.passage.url)]
    mark, prose = "", 0
    for claim in claims:
        if claim.item != GOES_ON:
            mark = claim.item
        if len(kept) == max(most) or (prose == most.sentences and not claim.item):
            continue
        if foreign(claim.text, known):
            notes.append("foreign address")
        elif not _runs(claim.text).isdisjoint(_INSTRUCTED):
            notes.append("instruction repeated")
        else:
            citations, note = _citations(claim, shown, scorer, language)
            notes += [note] if note else []
            if citations or unsupported == "mark":
                kept.append(Sentence(f"{mark} {claim.text}".strip(), citations))
                mark, prose = "", prose + (not claim.item)
                continue
        notes += [ITEM_LEFT_OUT] if claim.item else []
    return Checked(tuple(kept), tuple(notes))


def _citations(
    claim: Claim, passages: Sequence[Shown], scorer: Scorer, language: str
) -> tuple[tuple[Citation, ...], str]:
    """Return the citations of a sentence and a note."""
    named = [passages[number - 1] for number in claim.numbers]
    if chosen := _supporting(_quotes(named, claim.text, language), claim.text, scorer, language):
        return tuple(quote.citation for quote in chosen), ""
    others = [shown for number, shown in enumerate(passages, 1) if number not in claim.numbers]
    quotes = _quotes(others, claim.text, language)
    scores = scorer([(quote.evidence, claim.text) for quote in quotes], language) if quotes else []
    best = max(range(len(quotes)), key=scores.__getitem__, default=None)
    if best is None or scores[best] < SUPPORTED:
        return (), "unsupported sentence"
    return (quotes[best].citation,), "citation moved" if named else "citation added"


def _supporting(quotes: Sequence[_Quote], text: str, scorer: Scorer, language: str) -> list[_Quote]:
    """Return the quotes that each support the text, otherwise a minimal set that supports it, otherwise []."""

    def supports(quotes: Sequence[_Quote]) -> bool:
        return scorer([("\n".join(quote.evidence for quote in quotes), text)], language)[0] >= SUPPORTED

    if not quotes:
        return []
    scores = scorer([(quote.evidence, text) for quote in quotes], language)
    alone = [quote for quote, score in zip(quotes, scores, strict=True) if score >= SUPPORTED]
    if alone or len(quotes) == 1:
        return alone
    together = list(quotes)
    if not supports(together):
        return []
    for quote in quotes[::-1]:
        rest = [other for other in together if other is not quote]
        if len(rest) > 1 and supports(rest):
            together = rest
    return together


def _quotes(passages: Sequence[Shown], text: str, language: str) -> list[_Quote]:
    return [quote for shown in passages if (quote := _quote(shown, text, language))]


def _quote(shown: Shown, text: str, language: str) -> _Quote | None:
    """Return the sentence of the shown part with most words of the text, with a neighbor that adds some.

    Quotes are always chosen by words; the scorer only rates the chosen one.
    """
    passage = shown.passage
    bounds = [(shown.start + start, shown.start + end) for start, end in sentences(shown.text, language)]
    if not bounds:
        return None

    def evidence(first: int, last: int) -> str:
        quoted = passage.text[bounds[first][0] : bounds[last][1]]
        return f"{passage.title}\n{quoted}" if passage.title else quoted

    def score(first: int, last: int) -> float:
        return worded([(evidence(first, last), text)], language)[0]

    first = last = max(range(len(bounds)), key=lambda index: score(index, index))
    best = score(first, last)
    for before, after in ((1, 0), (0, 1)):
        wider = (max(0, first - before), min(len(bounds) - 1, last + after))
        if wider != (first, last) and (wider_score := score(*wider)) > best + _GAIN:
            (first, last), best = wider, wider_score
    # The text must not be supported by the title alone, which cannot be quoted.
    title_score = worded([(passage.title, text)], language)[0] if passage.title else 0.0
    if title_score >= SUPPORTED and best <= title_score:
        return None
    return _Quote(Citation(passage.id, bounds[first][0], bounds[last][1]), evidence(first, last))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    tokens = words(text)
    return frozenset(tuple(tokens[start : start + _RUN]) for start in range(len(tokens) - _RUN + 1))


_INSTRUCTED = _runs(INSTRUCTION)


def worded(pairs: Sequence[tuple[str, str]], language: str) -> list[float]:
    """Return ``lexical_support`` of (evidence, sentence) pairs, by surface words in languages without an analyzer.

    Without stems, stop words, negation and idf, words are weighted by their length, because frequent words are short in
    every language (Zipf). Ideographs are compared as bigrams. A number that the evidence lacks caps the score.

    >>> evidence = "Goethe a écrit Faust à Weimar."
    >>> worded([(evidence, "Goethe écrit Faust."), (evidence, "Goethe est né.")], "fr")  # doctest: +ELLIPSIS
    [1.0, 0.40...]
    """
    try:
        return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]
    except InputError:
        return [_shared(evidence, sentence) for evidence, sentence in pairs]


def _shared(evidence: str, sentence: str) -> float:
    available, needed = set(_units(evidence)), set(_units(sentence))
    total = sum(map(len, needed))
    if not total:
        return 0.0
    score: float = (sum(map(len, needed & available)) / total) ** POWER
    numbers = {unit for unit in needed if unit[0].isdecimal()}
    return score if numbers <= available else min(score, CAP)


def _units(text: str) -> Iterator[str]:
    """Yield the words of a text, and bigrams of ideographs, or single ones."""
    run = ""
    for word in [*words(unicodedata.normalize("NFKC", text)), ""]:
        if len(word) == 1 and not word.isascii():
            run += word
            continue
        yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)) if run)
        run = ""
        if word:
            yield word
