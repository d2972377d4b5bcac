"""Reads sentences that are likely to be part of the right answer.

They are scored by words shared with the question and by their form and, with an encoder, also by vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from convqa.components.base import Reader
from convqa.components.encoding import ModelOptions, QueryVectors
from convqa.components.members import member
from convqa.components.parameters import Count
from convqa.components.readers import _sentence_scoring as scoring
from convqa.components.readers._sentence_scoring import SentenceEvidence
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.models import TextEncoder
from convqa.text.analysis import analyzer
from convqa.text.quotes import quotable_units

_MAX_SPANS = 8
"""Maximum spans of a turn. Only these are encoded, and they suffice (docs/reference/reading.md)."""


@member
class SentencesReader(Reader):
    """Score each sentence of the top passages by the expected share of its words in a right answer.

    The score, from 0 to 1, depends on the share of the question's words, weighted by idf, in the sentence or its
    passage's title; on the weighted history terms; on the passage (density, rank); and on the sentence itself
    (position, length, form). With an encoder, it also depends on the cosine with the question, and on the difference
    between the scores of its passage and the first one (docs/reference/reading.md). The null score is the share of the
    question that no sentence with its title contains: 1 if no word of the question was found, 0 if one sentence has
    all of them.

    Example::

        reader: {type: sentences, init_parameters: {max_passages: 10, encoder: encoder}}

    :param max_passages: how many of the top passages are read, except those without text.
    :param encoder: the shipped encoder, to whose cosines the weights were fitted. None = words alone, without a model,
        in any language.
    :param options: ``device`` and ``precision`` of the encoder.
    """

    max_passages: Count = 10
    encoder: Literal["encoder"] | None = None
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self._queries = None if self.encoder is None else QueryVectors(self.encoder, self.options)

    def models(self) -> Mapping[str, TextEncoder]:
        return {} if self._queries is None else {"encoder": self._queries.model}

    def read(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Reading:
        return self.read_batch([turn], [rewrite], [ranking])[0]

    def read_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Reading]:
        readings = []
        for sentences, null_score in self.evidence(turns, rewrites, rankings):
            spans = [sentence.span() for sentence in sentences]
            spans.sort(key=lambda span: -span.score)
            readings.append(Reading(tuple(spans), null_score))
        return readings

    def evidence(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        count: int | None = _MAX_SPANS,
    ) -> list[tuple[list[ScoredSentence], float]]:
        """Return, for each turn, the best ``count`` sentences by words, with their evidence, and the null score."""
        scored = [self._by_words(*row, count) for row in zip(turns, rewrites, rankings, strict=True)]
        if self._queries is None:
            return scored
        questions = self._queries.of_rewrites(rewrites)
        texts = list(dict.fromkeys(sentence.titled() for sentences, _ in scored for sentence in sentences))
        vectors = dict(zip(texts, self._queries.model.remembered(texts), strict=True))
        for (sentences, _), question in zip(scored, questions, strict=True):
            if question is not None:
                sentences[:] = [
                    sentence.with_cosine(float(vectors[sentence.titled()] @ question)) for sentence in sentences
                ]
        return scored

    def _by_words(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        count: int | None,
    ) -> tuple[list[ScoredSentence], float]:
        """Return the best sentences without vectors, ties in order of the text, and the null score."""
        curve = scoring.BY_WORDS if self._queries is None else scoring.BY_BOTH
        sentences, covered = self._all_sentences(turn, rewrite, ranking)
        sentences.sort(key=lambda sentence: -curve(sentence.evidence))
        fit: list[ScoredSentence] = []
        for sentence in sentences:
            if len(fit) == count:
                break
            quote = sentence.quoted(turn.language)
            if quote is not None:
                fit.append(quote)
        # If no sentence is quotable, return the best one.
        return fit or sentences[:1], max(0.0, 1 - covered)

    def _all_sentences(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
    ) -> tuple[list[ScoredSentence], float]:
        """Return the sentences of all passages, and the largest share of the question in one of them."""
        hits = ranking.hits[: self.max_passages]
        distances = scoring.behind([hit.score for hit in hits])
        passages = [
            (hit.passage, distance) for hit, distance in zip(hits, distances, strict=True) if hit.passage is not None
        ]
        query = scoring.query_tokens(rewrite, turn.language)
        tokens = analyzer(turn.language).tokens
        answers = [frozenset(tokens(exchange.answer)) for exchange in turn.history if exchange.answer]
        sentences = []
        max_covered = 0.0
        for rank, (passage, distance) in enumerate(passages):
            analyzed = scoring.analyzed(passage, turn.language)
            scores, covered = scoring.sentence_scores(analyzed, query, rank)
            max_covered = max(max_covered, covered)
            for index, (unit, score) in enumerate(zip(analyzed.units, scores, strict=True)):
                repeated = scoring.repeated_share(unit, answers)
                evidence = SentenceEvidence(
                    score,
                    distance,
                    1 / (index + 1),
                    repeated,
                )
                sentences.append(ScoredSentence(passage, unit.start, unit.end, evidence))
        return sentences, max_covered


class ScoredSentence(NamedTuple):
    """A sentence, characters ``[start, end)`` of its passage, and its evidence."""

    passage: Passage
    start: int
    end: int
    evidence: SentenceEvidence

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    def quoted(self, language: str) -> ScoredSentence | None:
        """Return what is quoted (:func:`convqa.text.quotes.quotable_units`), if it is fit to be."""
        offsets = quotable_units(self.passage, self.start, self.end, language)
        return None if offsets is None else self._replace(start=offsets[0], end=offsets[1])

    def titled(self) -> str:
        """Return the input of the encoder, with the title and headings, to which pronouns refer."""
        context = " ".join(self.passage.context.split())
        return f"{context}. {self.text}" if context else self.text

    def with_cosine(self, cosine: float) -> ScoredSentence:
        return self._replace(evidence=self.evidence._replace(cosine=cosine))

    def span(self) -> Span:
        return Span(
            self.passage.id,
            self.start,
            self.end,
            self.text,
            scoring.expected(self.evidence),
        )
