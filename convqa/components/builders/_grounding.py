"""Whether passages support what a model wrote, sentence by sentence, and which of their sentences do."""

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
"""Treatments of a sentence that no passage bears out: it is left out, or said without a citation."""

Scorer = Callable[[Sequence[tuple[str, str]], str], Sequence[float]]
"""(evidence, sentence) pairs and their language -> how far each evidence supports its sentence, 0 to 1."""

ITEM_LEFT_OUT = "item left out"
"""The note of a sentence in a list that is not said."""

_GAIN = 0.02
"""The support that the sentence before or after must add to a quote to become part of it."""

_RUN = 8
"""Words in a row that a sentence shares with the instruction when it repeats it."""


class Checked(NamedTuple):
    """The sentences that may be said, and what was done to get there, for a run's summary: one note a sentence."""

    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...]


class _Quote(NamedTuple):
    """The place of a passage that fits a sentence best, and what stands there, with the title."""

    citation: Citation
    evidence: str


def check(
    said: Sequence[Claim], shown: Sequence[Shown], scorer: Scorer, language: str, unsupported: Unsupported, most: Most
) -> Checked:
    """Hold the sentences of a reply to the passages that the model was shown; the first that may stay stay.

    Items of lists keep their marks, as the reply has them: a number that lacks is that of an item that was left out.

    A sentence is tried against the passages that it names: each that supports it is cited, or, where none does alone,
    those that do together. One that names none, or is borne out by none that it names, is tried against the others,
    and cites the best that supports it. A citation quotes the sentence of its passage that fits best, with the one
    before or after where that helps. Addresses that no passage has, and sentences of the instruction, are never said.
    """
    kept: list[Sentence] = []
    notes: list[str] = []
    known = [text for part in shown for text in (part.text, part.passage.title, part.passage.url)]
    mark, spoken = "", 0
    for one in said:
        if one.item != GOES_ON:
            mark = one.item
        if len(kept) == max(most) or (spoken == most.sentences and not one.item):
            continue
        if foreign(one.text, known):
            notes.append("foreign address")
        elif not _runs(one.text).isdisjoint(_INSTRUCTED):
            notes.append("instruction repeated")
        else:
            citations, note = _citations(one, shown, scorer, language)
            notes += [note] if note else []
            if citations or unsupported == "mark":
                kept.append(Sentence(f"{mark} {one.text}".strip(), citations))
                mark, spoken = "", spoken + (not one.item)
                continue
        notes += [ITEM_LEFT_OUT] if one.item else []
    return Checked(tuple(kept), tuple(notes))


def _citations(
    said: Claim, passages: Sequence[Shown], scorer: Scorer, language: str
) -> tuple[tuple[Citation, ...], str]:
    """A sentence's citations, and what there is to note."""
    named = [passages[number - 1] for number in said.numbers]
    if chosen := _supporting(_quotes(named, said.text, language), said.text, scorer, language):
        return tuple(quote.citation for quote in chosen), ""
    others = [shown for number, shown in enumerate(passages, 1) if number not in said.numbers]
    quotes = _quotes(others, said.text, language)
    scores = scorer([(quote.evidence, said.text) for quote in quotes], language) if quotes else []
    best = max(range(len(quotes)), key=scores.__getitem__, default=None)
    if best is None or scores[best] < SUPPORTED:
        return (), "unsupported sentence"
    return (quotes[best].citation,), "citation moved" if named else "citation added"


def _supporting(quotes: Sequence[_Quote], text: str, scorer: Scorer, language: str) -> list[_Quote]:
    """The quotes that support the text, each alone; else the fewest from the end that do together; else none."""
    if not quotes:
        return []
    scores = scorer([(quote.evidence, text) for quote in quotes], language)
    alone = [quote for quote, score in zip(quotes, scores, strict=True) if score >= SUPPORTED]
    if alone or len(quotes) == 1:
        return alone
    together = list(quotes)
    if _together(together, text, scorer, language) < SUPPORTED:
        return []
    for quote in quotes[::-1]:
        rest = [other for other in together if other is not quote]
        if len(rest) > 1 and _together(rest, text, scorer, language) >= SUPPORTED:
            together = rest
    return together


def _together(quotes: Sequence[_Quote], text: str, scorer: Scorer, language: str) -> float:
    return scorer([("\n".join(quote.evidence for quote in quotes), text)], language)[0]


def _quotes(passages: Sequence[Shown], text: str, language: str) -> list[_Quote]:
    return [quote for shown in passages if (quote := _quote(shown, text, language))]


def _quote(shown: Shown, text: str, language: str) -> _Quote | None:
    """The sentence of the shown part that has most of the text's words, grown to a neighbour that adds some.

    Places are always found by words: a model then says of the best place whether it supports the text.
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

    first = last = max(range(len(bounds)), key=lambda place: score(place, place))
    reached = score(first, last)
    for before, after in ((1, 0), (0, 1)):
        wider = (max(0, first - before), min(len(bounds) - 1, last + after))
        if wider != (first, last) and (more := score(*wider)) > reached + _GAIN:
            (first, last), reached = wider, more
    # A sentence that only repeats the title is borne out by nothing that could be quoted.
    entitled = worded([(passage.title, text)], language)[0] if passage.title else 0.0
    if entitled >= SUPPORTED and reached <= entitled:
        return None
    return _Quote(Citation(passage.id, bounds[first][0], bounds[last][1]), evidence(first, last))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    spoken = words(text)
    return frozenset(tuple(spoken[place : place + _RUN]) for place in range(len(spoken) - _RUN + 1))


_INSTRUCTED = _runs(INSTRUCTION)


def worded(pairs: Sequence[tuple[str, str]], language: str) -> list[float]:
    """``lexical_support`` of (evidence, sentence) pairs; in a language without an analysis by words as they stand.

    There nothing is known of stems, stop words, negations or rare words. Each word counts its letters, as frequent
    words are short in every language (Zipf); of signs that are words (ideographs) each two in a row count. A number
    that the evidence lacks caps the score.

    >>> evidence = "Goethe a écrit Faust à Weimar."
    >>> worded([(evidence, "Goethe écrit Faust."), (evidence, "Goethe est né.")], "fr")  # doctest: +ELLIPSIS
    [1.0, 0.40...]
    """
    try:
        return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]
    except InputError:
        return [_shared(evidence, sentence) for evidence, sentence in pairs]


def _shared(evidence: str, sentence: str) -> float:
    there, said = set(_units(evidence)), set(_units(sentence))
    total = sum(map(len, said))
    if not total:
        return 0.0
    score: float = (sum(map(len, said & there)) / total) ** POWER
    numbers = {unit for unit in said if unit[0].isdecimal()}
    return score if numbers <= there else min(score, CAP)


def _units(text: str) -> Iterator[str]:
    """The words of a text; of ideographs each two in a row, or one alone."""
    run = ""
    for word in [*words(unicodedata.normalize("NFKC", text)), ""]:
        if len(word) == 1 and not word.isascii():
            run += word
            continue
        yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)) if run)
        run = ""
        if word:
            yield word
