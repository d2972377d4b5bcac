"""Reads sentences: those most likely to be in the right answer.

By the words that they share with the question and by their form, without a model; or by these and by the vectors of an
encoder.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Annotated, NamedTuple

from pydantic import Field

from convqa.components.base import Reader
from convqa.components.encoding import DEFAULT_TEXTS, Matrix, ModelOptions, QueryEncoder, fitted_for
from convqa.components.members import member
from convqa.components.readers import _sentence_scoring as scoring
from convqa.components.readers._sentence_scoring import Evidence
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.models import TextEncoder
from convqa.text.analysis import analyzer
from convqa.text.quotes import quotable

logger = logging.getLogger(__name__)

_MOST_SPANS = 8
"""Sentences encoded for a turn: the best by words hold what the vectors would choose (docs/reference/reading.md)."""


@member
class Sentences(Reader):
    """Score every sentence of the top passages by the share of its words that a right answer is expected to have.

    The score, 0 to 1, grows with the share of the question's words that the sentence or its passage's title has, each
    word counting its idf; with that of the history terms times their weights; and with what speaks for the passage
    (density, rank) and for the sentence whatever the question (place, length, form). Where an encoder is named, also
    with the cosine of its vector and the question's, and with how near its passage's score is to the first one's
    (docs/reference/reading.md). The null score is the share of the question that no sentence with its title has: 1
    where nothing of the question was found, 0 where one has all of it.

    :param passages: how many of the top passages are read; those without their text are passed over.
    :param encoder: the shipped encoder, in any precision. None = words alone: no model, any language; another encoder
        too, with a warning: what a cosine counts was fitted to the shipped one's.
    :param options: ``device``, ``precision`` and ``engine`` of the encoder.
    """

    passages: Annotated[int, Field(ge=1)] = 10
    encoder: Annotated[str, Field(min_length=1)] | None = None
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        self._queries = None if self.encoder is None else QueryEncoder(self.encoder, DEFAULT_TEXTS, self.options)

    def models(self) -> Mapping[str, TextEncoder]:
        return {} if self._near is None else {"encoder": self._near.model}

    @cached_property
    def _near(self) -> QueryEncoder | None:
        """What makes the vectors; None = words alone count."""
        if self._queries is None or fitted_for(self._queries.model):
            return self._queries
        logger.warning(
            "the reader sentences weighs cosines of the encoder that ships, and was not fitted to those of %r: it "
            "chooses sentences by words alone. Leave reader.encoder out, or name encoder, to read without this warning",
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
        """For each turn the best ``most`` sentences by words, with what speaks for them, and the null score."""
        found = [self._by_words(*row, most) for row in zip(turns, rewrites, rankings, strict=True)]
        if self._near is None:
            return found
        asked = self._near.of_rewrites(rewrites)
        texts = list(dict.fromkeys(one.titled() for sentences, _ in found for one in sentences))
        vectors = dict(zip(texts, self._near.model.remembered(texts, "passage", keep=True), strict=True))
        return [
            ([one if vector is None else one.near(vectors[one.titled()], vector) for one in sentences], null)
            for (sentences, null), vector in zip(found, asked, strict=True)
        ]

    def _by_words(
        self, turn: Turn, rewrite: Rewrite, ranking: Ranking, most: int | None
    ) -> tuple[list[Weighed], float]:
        """The best sentences by what is known without vectors, of equals the first, and the null score."""
        wanted = scoring.wanted_of(rewrite, turn.language)
        shares = scoring.behind([hit.score for hit in ranking.hits[: self.passages]])
        hits = zip(ranking.hits, shares, strict=False)
        passages = [(hit.passage, share) for hit, share in hits if hit.passage is not None]
        tokens = analyzer(turn.language).tokens
        answers = [frozenset(tokens(exchange.answer)) for exchange in turn.history if exchange.answer]
        found: list[Weighed] = []
        best = 0.0
        for place, (passage, share) in enumerate(passages):
            marked = scoring.marked_of(passage.title, passage.text, turn.language)
            scores, covered = scoring.scored(marked, wanted, place)
            said = scoring.said(marked, answers)
            best = max(best, covered)
            found += [
                Weighed(passage, *offsets, Evidence(score, share, 1 / at, told))
                for at, (offsets, score, told) in enumerate(zip(marked.offsets, scores, said, strict=True), 1)
            ]
        curve = scoring.BY_WORDS if self._near is None else scoring.BY_BOTH
        # A stable sort keeps the order of equals.
        ranked = sorted(found, key=lambda one: -curve(one.evidence))
        fit = list(islice((one for each in ranked if (one := each.quoted(turn.language))), most))
        # Where all of it is junk, the answer is the best of it.
        return fit or ranked[:1], max(0.0, 1 - best)


class Weighed(NamedTuple):
    """A sentence, characters ``[start, end)`` of its passage, and what speaks for it."""

    passage: Passage
    start: int
    end: int
    evidence: Evidence

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    def quoted(self, language: str) -> Weighed | None:
        """The part that may be quoted (:func:`convqa.text.quotes.quotable`)."""
        place = quotable(self.passage.text, self.start, self.end, language)
        return None if place is None else self._replace(start=place[0], end=place[1])

    def titled(self) -> str:
        """As an encoder reads it: what it says of "it" is said of the title."""
        return f"{self.passage.title}. {self.text}" if self.passage.title else self.text

    def near(self, vector: Matrix, question: Matrix) -> Weighed:
        return self._replace(evidence=self.evidence._replace(cosine=float(vector @ question)))

    def span(self) -> Span:
        return Span(self.passage.id, self.start, self.end, self.text, scoring.expected(self.evidence))
