"""Cites every passage that says the same: near-duplicates become several citations of one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from convqa.components.base import Builder, MaybeReadings
from convqa.components.members import describe, make, member
from convqa.domain import Answer, Citation, Failure, Passage, Ranking, Rewrite, Sentence, Turn
from convqa.text import german, japanese
from convqa.text.analysis import analyzer_or_words
from convqa.text.cache import remembered
from convqa.text.english import lexicon
from convqa.text.sentences import sentences

SAME = 0.85
"""Share of the words of two quotes that they have in common (their Jaccard index) from which they say the same."""

_NEGATIONS = lexicon.NEGATIONS | german.NEGATIONS | japanese.NEGATIONS


@member
class Merge(Builder):
    """Another builder's answer, each of whose sentences cites all passages of the ranking that say it.

    A passage says what another's quote says if as many sentences of it in a row have the same words, or ``SAME`` of
    both's words in common, with the same numbers and negations, and with no content word in the place of another: one
    of them may say more, but not something else. The text stays the other builder's. Citations stand
    in the order of the ranking; those of whole passages, without offsets, stay as they are.

    :param builder: the builder whose answer it is: its name, or ``{type: ..., init_parameters: {...}}``.
    :param citations: of a sentence at most; the builder's own are never dropped.
    :param passages: how many of the top passages are looked at; those without their text are passed over.
    """

    builder: Any = "sentences"
    citations: Annotated[int, Field(ge=1)] = 3
    passages: Annotated[int, Field(ge=1)] = 20

    def __post_init__(self) -> None:
        self._builder = make(self.builder, "builder", Builder)
        self.inner = [self._builder]
        self.builder = describe(self._builder)

    def build_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking], readings: MaybeReadings
    ) -> Sequence[Answer | Failure]:
        answers = self._builder.build_batch(turns, rewrites, rankings, readings)
        rows = zip(answers, rankings, turns, strict=True)
        return [row[0] if isinstance(row[0], Failure) else self._merged(row[0], *row[1:]) for row in rows]

    def _merged(self, answer: Answer, ranking: Ranking, turn: Turn) -> Answer:
        passages = {hit.id: hit.passage for hit in ranking.hits[: self.passages] if hit.passage is not None}
        place = {hit.id: rank for rank, hit in reversed(list(enumerate(ranking.hits)))}
        said = []
        for sentence in answer.sentences:
            own = list(sentence.citations)
            found = (more for one in own for more in _elsewhere(one, passages, turn.language))
            for more in sorted(dict.fromkeys(found), key=lambda one: place[one.passage_id]):
                if len(own) < self.citations and all(more.passage_id != one.passage_id for one in own):
                    own.append(more)
            own.sort(key=lambda one: place.get(one.passage_id, len(place)))
            said.append(Sentence(sentence.text, tuple(own)))
        return replace(answer, sentences=tuple(said))


def _elsewhere(citation: Citation, passages: Mapping[str, Passage], language: str) -> Iterator[Citation]:
    """The places in other passages that say what a citation quotes: of each passage the one that is most like it."""
    passage = passages.get(citation.passage_id)
    if passage is None or citation.start is None or citation.end is None:
        return
    own = _parts(passage.text, language)
    row = sum(part.start < citation.end and part.end > citation.start for part in own)
    quoted = _part(passage.text, citation.start, citation.end, language)
    if not row or not quoted.words:
        return
    for other in passages.values():
        if other.id == citation.passage_id:
            continue
        parts = _parts(other.text, language)
        runs = [_run(parts[start : start + row]) for start in range(len(parts) - row + 1)]
        best = max(runs, key=lambda run: _alike(quoted, run), default=None)
        if best is not None and _alike(quoted, best) >= SAME:
            yield Citation(other.id, best.start, best.end)


class _Part(NamedTuple):
    """Characters ``[start, end)`` of a text, their words, the stems of those with content, and what has to be equal."""

    start: int
    end: int
    words: frozenset[str]
    content: frozenset[str]
    strict: frozenset[str]


@remembered(4096)
def _parts(text: str, language: str) -> tuple[_Part, ...]:
    """The sentences of a text."""
    return tuple(_part(text, start, end, language) for start, end in sentences(text, language))


def _part(text: str, start: int, end: int, language: str) -> _Part:
    analysis = analyzer_or_words(language)
    found, content = frozenset(analysis.words(text[start:end])), frozenset(analysis.content(text[start:end]))
    strict = frozenset(
        word for word in found
        if word in _NEGATIONS or word.endswith(lexicon.CONTRACTED_NOT) or any(map(str.isdecimal, word))
    )  # fmt: skip
    return _Part(start, end, found, content, strict)


def _run(parts: Sequence[_Part]) -> _Part:
    """Sentences in a row as one."""
    if len(parts) == 1:
        return parts[0]
    found, content, strict = (frozenset().union(*sets) for sets in zip(*(part[2:] for part in parts), strict=True))
    return _Part(parts[0].start, parts[-1].end, found, content, strict)


def _alike(one: _Part, two: _Part) -> float:
    """The Jaccard index of their words; 0 where they cannot say the same, or not reach ``SAME``."""
    fewer, more = sorted((len(one.words), len(two.words)))
    if fewer < SAME * more or not more or one.strict != two.strict:
        return 0.0
    if one.content - two.content and two.content - one.content:
        return 0.0
    shared = len(one.words & two.words)
    return shared / (fewer + more - shared)
