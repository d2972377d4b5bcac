"""Reads sentences that are likely to be part of the right answer.

They are scored by words shared with the question and by their form and, with an encoder, also by vectors.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Annotated, NamedTuple

from pydantic import Field

from convqa.components.base import Reader
from convqa.components.encoding import Matrix, ModelOptions, QueryEncoder, fitted_for
from convqa.components.members import member
from convqa.components.readers import _sentence_scoring as scoring
from convqa.components.readers._sentence_scoring import Evidence
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.models import TextEncoder
from convqa.text.analysis import analyzer
from convqa.text.quotes import quotable

logger = logging.getLogger(__name__)

_MOST_SPANS = 8
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

    :param passages: how many of the top passages are read, except those without text.
    :param encoder: the shipped encoder, in any precision. None = words alone, without a model, in any language. The
        same is used, with a warning, for other encoders, because the weight of cosines was fitted to the shipped one.
    :param options: ``device`` and ``precision`` of the encoder.
    """

    passages: Annotated[int, Field(ge=1)] = 10
    encoder: Annotated[str, Field(min_length=1)] | None = None
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self._queries = None if self.encoder is None else QueryEncoder(self.encoder, self.options)

    def models(self) -> Mapping[str, TextEncoder]:
        return {} if self._near is None else {"encoder": self._near.model}

    @cached_property
    def _near(self) -> QueryEncoder | None:
        """The encoder of the question, or None for words alone."""
        if self._queries is None or fitted_for(self._queries.model):
            return self._queries
        logger.warning(
            "the reader sentences was fitted to cosines of the shipped encoder, not to those of %r: it chooses "
            "sentences by words alone. Remove reader.encoder, or set it to encoder, to avoid this warning",
            self._queries.name,
        )  # fmt: skip
        return None

    def read(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Reading:
        return self.read_batch([turn], [rewrite], [ranking])[0]

    def read_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Reading]:
        return [
            Reading(tuple(sorted(map(Weighed.span, sentences), key=lambda span: -span.score)), null)
            for sentences, null in self.evidence(turns, rewrites, rankings)
        ]

    def evidence(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        most: int | None = _MOST_SPANS,
    ) -> list[tuple[list[Weighed], float]]:
        """Return, for each turn, the best ``most`` sentences by words, with their evidence, and the null score."""
        read = [self._by_words(*row, most) for row in zip(turns, rewrites, rankings, strict=True)]
        if self._near is None:
            return read
        questions = self._near.of_rewrites(rewrites)
        texts = list(dict.fromkeys(one.titled() for sentences, _ in read for one in sentences))
        vectors = dict(zip(texts, self._near.model.remembered(texts), strict=True))
        return [
            ([one if question is None else one.near(vectors[one.titled()], question) for one in sentences], null)
            for (sentences, null), question in zip(read, questions, strict=True)
        ]

    def _by_words(
        self, turn: Turn, rewrite: Rewrite, ranking: Ranking, most: int | None
    ) -> tuple[list[Weighed], float]:
        """Return the best sentences without vectors, ties in order of the text, and the null score."""
        query = scoring.query_tokens(rewrite, turn.language)
        shares = scoring.behind([hit.score for hit in ranking.hits[: self.passages]])
        hits = zip(ranking.hits, shares, strict=False)
        passages = [(hit.passage, share) for hit, share in hits if hit.passage is not None]
        tokens = analyzer(turn.language).tokens
        answers = [frozenset(tokens(exchange.answer)) for exchange in turn.history if exchange.answer]
        sentences: list[Weighed] = []
        best = 0.0
        for index, (passage, share) in enumerate(passages):
            analyzed = scoring.analyzed(passage.title, passage.text, turn.language)
            scores, covered = scoring.sentence_scores(analyzed, query, index)
            answered = scoring.answered_shares(analyzed, answers)
            best = max(best, covered)
            sentences += [
                Weighed(passage, *offsets, Evidence(score, share, 1 / position, answered_share))
                for position, (offsets, score, answered_share) in enumerate(
                    zip(analyzed.offsets, scores, answered, strict=True), 1
                )
            ]
        curve = scoring.BY_WORDS if self._near is None else scoring.BY_BOTH
        ranked = sorted(sentences, key=lambda one: -curve(one.evidence))
        fit = list(islice((one for each in ranked if (one := each.quoted(turn.language))), most))
        # If no sentence is quotable, return the best one.
        return fit or ranked[:1], max(0.0, 1 - best)


class Weighed(NamedTuple):
    """A sentence, characters ``[start, end)`` of its passage, and its evidence."""

    passage: Passage
    start: int
    end: int
    evidence: Evidence

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    def quoted(self, language: str) -> Weighed | None:
        """Return the quotable part (:func:`convqa.text.quotes.quotable`), if there is one."""
        offsets = quotable(self.passage.text, self.start, self.end, language)
        return None if offsets is None else self._replace(start=offsets[0], end=offsets[1])

    def titled(self) -> str:
        """Return the input of the encoder, with the title, to which pronouns refer."""
        return f"{self.passage.title}. {self.text}" if self.passage.title else self.text

    def near(self, vector: Matrix, question: Matrix) -> Weighed:
        return self._replace(evidence=self.evidence._replace(cosine=float(vector @ question)))

    def span(self) -> Span:
        return Span(self.passage.id, self.start, self.end, self.text, scoring.expected(self.evidence))
