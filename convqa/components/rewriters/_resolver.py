"""The base of the rewriters ``terms`` and ``edit``: the trained resolver, and history terms with its probabilities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.encoding import ModelOptions
from convqa.components.history import Past, said_before
from convqa.components.members import member
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Query, Rewrite, Turn
from convqa.models import Options, Resolution, Resolver, load_resolver
from convqa.models.kinds.resolver_input import LANGUAGE
from convqa.text.analysis import Analyzer, analyzer
from convqa.text.dialogue import open_question
from convqa.text.words import latin

FOREIGN = "resolver: not in its language; expanded instead"
QUOTED = "resolver: a history of replies; expanded instead"
Probability = Annotated[float, Field(ge=0, le=1)]

_LEAST = 0.2
"""Minimum probability of a term."""

_REPLY = re.compile(r"(?:yes|no)[.!]?", re.I)


@member
class Resolving(Rewriter):
    """Make one query: the question, and the words of the history that it needs, each with ``weight`` x its probability.

    ``expansion`` replaces the model if it does not read the question's language or script, or if every answer of the
    history is a bare yes or no. A run's summary counts both.

    :param model: a resolver: the one that ships, or a folder. :param weight: weight of a term with probability 1,
        relative to a word of the question.
    """

    model: str = "resolver"
    weight: Annotated[float, Field(gt=0, le=10)] = 0.4
    options: ModelOptions | None = None

    @cached_property
    def _resolver(self) -> Resolver:
        return load_resolver(self.model, Options(**(self.options or {})))

    def models(self) -> Mapping[str, Resolver]:
        return {"resolver": self._resolver}

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        rewrites = [Rewrite.unchanged(open_question(turn)) for turn in turns]
        pending = []
        for index, turn in enumerate(turns):
            history = said_before(turn)
            if history and not reads(rewrites[index].text, turn.language):
                rewrites[index] = replace(Expansion().rewrite(turn), notes=(FOREIGN,))
            elif history and replied_only(history):
                rewrites[index] = replace(Expansion().rewrite(turn), notes=(QUOTED,))
            elif history and rewrites[index].text.strip():
                pending.append((index, history))
        if not pending:
            return rewrites
        resolutions = self._resolver.resolve([(rewrites[index].text, history) for index, history in pending])
        for (index, _), resolution in zip(pending, resolutions, strict=True):
            rewrites[index] = self._rewrite(rewrites[index].text, resolution, turns[index].language)
        return rewrites

    def _rewrite(self, question: str, resolution: Resolution, language: str) -> Rewrite:
        terms = needed(question, resolution, _LEAST, analyzer(language))
        weighted = tuple((term, self.weight * probability) for term, probability in terms)
        return Rewrite(self._text(question, resolution, terms), (Query(question, weighted),))

    def _text(self, question: str, resolution: Resolution, terms: Sequence[tuple[str, float]]) -> str:
        raise NotImplementedError


def reads(question: str, language: str) -> bool:
    """Return whether a resolver can read a question: it is in the resolver's language, in mostly Latin letters.

    >>> reads("When was he born?", "en"), reads("Wann wurde er geboren?", "de"), reads("\u4ed6\u5728\u54ea\u91cc", "en")
    (True, False, False)
    """
    return language == LANGUAGE and latin(question)


def replied_only(said: Sequence[Past]) -> bool:
    """Return whether every answer is a bare yes or no, so that the questions quote the relevant passage.

    >>> replied_only([Past("Are you over 60?", "Yes"), Past("Do you live in Wales?", "no.")])
    True
    """
    return all(exchange.question and _REPLY.fullmatch(exchange.answer.strip()) for exchange in said)


def needed(question: str, resolution: Resolution, least: float, analysis: Analyzer) -> list[tuple[str, float]]:
    """Return the words of the history with at least this probability, in order of occurrence.

    Each stem is returned once, with its highest probability. Stop words and words of the question, in any form, are
    excluded.
    """
    known = set(analysis.tokens(question))
    probabilities: dict[str, float] = {}
    written: dict[str, str] = {}
    for word, probability in resolution.terms:
        plain = word.lower().replace("\u2019", "'")
        stem = analysis.stem(plain)
        if probability < least or stem in known or len(plain) < 2 or plain in analysis.long_stopwords or plain == "'s":
            continue
        written.setdefault(stem, word)
        probabilities[stem] = max(probabilities.get(stem, 0.0), probability)
    return [(word, probabilities[stem]) for stem, word in written.items()]
