"""Completes the question with phrases of the history that a trained model selects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.encoding import ModelOptions, QueryVectors
from convqa.components.history import OpenQuestion, Past, questions_with_history, reads
from convqa.components.members import member
from convqa.components.parameters import Name
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Query, Rewrite, Turn
from convqa.models import Options, Resolution, Resolver, load_resolver
from convqa.models.types import Model
from convqa.text.analysis import Analyzer, analyzer
from convqa.text.dialogue import open_question

FOREIGN = "resolver: not in its language; expanded instead"
QUOTED = "resolver: a history of replies; expanded instead"

_MIN_TERM_PROBABILITY = 0.2

_MIN_SIMILARITY = 0.8
_MIN_GAIN = 0.07
"""Cosine of an edited question and the query encoder's vector, and how much more than that of the question it must be.
Chosen on nine collections of own documents that the query encoder was not trained on (docs/reference/rewriting.md)."""

_YES_OR_NO = re.compile(r"(?:yes|no)[.!]?", re.I)
_NAMES_ITS_SUBJECT = re.compile(r"(?:\w+,? )?(?i:what|how) about (?:the |an? )?[A-Z]")
"""A question that names its subject, so that no phrase of the history is missing."""


@member
class Edit(Rewriter):
    """Write the self-contained question by inserting phrases of the history.

    A tag-and-point model (after Jin et al., "Hierarchical Context Tagging for Utterance Rewriting", AAAI 2022) chooses
    a phrase, or none, for each position. Its own words come only from its patterns (besides, other than, his, did ...).
    "What about NAME?" is left unchanged.

    The query is the question, and as terms the words of the history that it needs, each with ``weight`` x its
    probability, and the best words of the history (``expansion``). Both count half. The first follows QuReTeC
    (Voskarides et al., "Query Resolution for Conversational Search with Limited Supervision", SIGIR 2020), whose terms
    have no weights.

    ``expansion`` replaces the model if it does not read the question's language or script, or if every answer of the
    history is a bare yes or no. A run's summary counts both.

    Example::

        rewriter: {type: edit, init_parameters: {weight: 0.4}}

    :param model: a resolver: the one that ships, or a folder.
    :param weight: weight of a term with probability 1, relative to a word of the question.
    :param options: ``device`` and ``precision`` of the model.
    :param min_probability: minimum probability of an edit.
    :param query_encoder: a model of questions with their history, which checks the text: it is edited only if the edit
        replaces a word and the model's vector is close to the edited question. None, or a model that does not fit the
        shipped encoder = nothing is checked.
    """

    model: str = "resolver"
    weight: Annotated[float, Field(gt=0, le=10)] = 0.4
    options: ModelOptions | None = None
    min_probability: Annotated[float, Field(ge=0, le=1)] = 0.2
    query_encoder: Name | None = None

    @cached_property
    def _resolver(self) -> Resolver:
        return load_resolver(self.model, Options(**(self.options or {})))

    @cached_property
    def _expansion(self) -> Expansion:
        return Expansion()

    @cached_property
    def _vectors(self) -> QueryVectors:
        return QueryVectors(None, None, self.query_encoder)

    def models(self) -> Mapping[str, Model]:
        models: dict[str, Model] = {"resolver": self._resolver}
        return models if self.query_encoder is None else {**models, **self._vectors.models()}

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        rewrites = [Rewrite.unchanged(open_question(turn)) for turn in turns]
        pending = []
        for question in questions_with_history(turns):
            note = ""
            if not reads(question.text, question.language):
                note = FOREIGN
            elif replied_only(question.history):
                note = QUOTED
            elif question.text.strip():
                pending.append(question)
            if note:
                rewrites[question.row] = replace(self._expansion.rewrite(turns[question.row]), notes=(note,))
        if pending:
            pairs = [(question.text, question.history) for question in pending]
            resolutions = self._resolver.resolve(pairs)
            texts = self._texts(pending, resolutions)
            for question, resolution, text in zip(pending, resolutions, texts, strict=True):
                query = self._query(turns[question.row], question, resolution)
                rewrites[question.row] = Rewrite(text, (query,))
        return rewrites

    def _texts(
        self,
        questions: Sequence[OpenQuestion],
        resolutions: Sequence[Resolution],
    ) -> list[str]:
        """Return the self-contained questions."""
        is_checked = self._vectors.history_model is not None
        texts = []
        for question, resolution in zip(questions, resolutions, strict=True):
            is_complete = _NAMES_ITS_SUBJECT.match(question.text)
            edited = resolution.text(self.min_probability, only_replace=is_checked)
            texts.append(question.text if is_complete else edited)
        if not is_checked:
            return texts
        plain = [question.text for question in questions]
        model = self._vectors.model
        wanted = self._vectors.of_histories(questions)
        similarities = np.sum(wanted * model.remembered(texts, "query"), axis=1)
        gains = similarities - np.sum(wanted * model.remembered(plain, "query"), axis=1)
        is_close = (similarities >= _MIN_SIMILARITY) & (gains >= _MIN_GAIN)
        return [text if close else asked for text, asked, close in zip(texts, plain, is_close, strict=True)]

    def _query(
        self,
        turn: Turn,
        question: OpenQuestion,
        resolution: Resolution,
    ) -> Query:
        analysis = analyzer(question.language)
        weights: dict[str, float] = {}
        written: dict[str, str] = {}
        needed = history_terms(question.text, resolution, analysis)
        terms = [(term, self.weight * probability) for term, probability in needed]
        for term, weight in (*terms, *self._expansion.rewrite(turn).queries[0].terms):
            stem = analysis.stem(term.lower())
            written.setdefault(stem, term)
            weights[stem] = weights.get(stem, 0.0) + weight / 2
        return Query(question.text, tuple((written[stem], weight) for stem, weight in weights.items()))


def replied_only(history: Sequence[Past]) -> bool:
    """Return whether every answer is a bare yes or no, so that the questions quote the relevant passage.

    >>> replied_only([Past("Are you over 60?", "Yes"), Past("Do you live in Wales?", "no.")])
    True
    """
    return all(exchange.question and _YES_OR_NO.fullmatch(exchange.answer.strip()) for exchange in history)


def history_terms(
    question: str,
    resolution: Resolution,
    analysis: Analyzer,
) -> list[tuple[str, float]]:
    """Return the words of the history that the question needs, with their probabilities, in order of occurrence.

    Each stem is returned once, with its highest probability. Stop words and words of the question, in any form, are
    excluded.
    """
    question_stems = set(analysis.tokens(question))
    probabilities: dict[str, float] = {}
    written: dict[str, str] = {}
    for word, probability in resolution.terms:
        plain = word.lower().replace("\u2019", "'")
        stem = analysis.stem(plain)
        is_content = len(plain) > 1 and plain not in analysis.long_stopwords and plain != "'s"
        if probability >= _MIN_TERM_PROBABILITY and is_content and stem not in question_stems:
            written.setdefault(stem, word)
            probabilities[stem] = max(probabilities.get(stem, 0.0), probability)
    return [(word, probabilities[stem]) for stem, word in written.items()]
