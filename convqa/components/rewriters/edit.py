"""Completes the question with phrases of the history that a trained model selects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.encoding import ModelOptions
from convqa.components.history import OpenQuestion, Past, questions_with_history, reads
from convqa.components.members import member
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Query, Rewrite, Turn
from convqa.models import Options, Resolution, Resolver, load_resolver
from convqa.text.analysis import Analyzer, analyzer
from convqa.text.dialogue import open_question

FOREIGN = "resolver: not in its language; expanded instead"
QUOTED = "resolver: a history of replies; expanded instead"

_MIN_TERM_PROBABILITY = 0.2

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
    """

    model: str = "resolver"
    weight: Annotated[float, Field(gt=0, le=10)] = 0.4
    options: ModelOptions | None = None
    min_probability: Annotated[float, Field(ge=0, le=1)] = 0.2

    @cached_property
    def _resolver(self) -> Resolver:
        return load_resolver(self.model, Options(**(self.options or {})))

    @cached_property
    def _expansion(self) -> Expansion:
        return Expansion()

    def models(self) -> Mapping[str, Resolver]:
        return {"resolver": self._resolver}

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
            for question, resolution in zip(pending, resolutions, strict=True):
                rewrites[question.row] = self._rewrite(
                    turns[question.row],
                    question,
                    resolution,
                )
        return rewrites

    def _rewrite(
        self,
        turn: Turn,
        question: OpenQuestion,
        resolution: Resolution,
    ) -> Rewrite:
        analysis = analyzer(question.language)
        weights: dict[str, float] = {}
        written: dict[str, str] = {}
        needed = history_terms(question.text, resolution, analysis)
        terms = [(term, self.weight * probability) for term, probability in needed]
        for term, weight in (*terms, *self._expansion.rewrite(turn).queries[0].terms):
            stem = analysis.stem(term.lower())
            written.setdefault(stem, term)
            weights[stem] = weights.get(stem, 0.0) + weight / 2
        is_complete = _NAMES_ITS_SUBJECT.match(question.text)
        text = question.text if is_complete else resolution.text(self.min_probability)
        query = Query(question.text, tuple((written[stem], weight) for stem, weight in weights.items()))
        return Rewrite(text, (query,))


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
