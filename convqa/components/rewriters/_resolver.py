"""What the rewriters `terms` and `edit` share: the trained resolver, and history terms with its probabilities."""

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
from convqa.components.members import with_parameters
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

_REPLY = re.compile(r"(?:yes|no)[.!]?", re.I)


@with_parameters
class Resolving(Rewriter):
    """One query: the question, and each word of the history that it needs with ``weight`` x its probability.

    Where the question is in another language or script than the model reads, or every answer of the history is a bare
    yes or no, ``expansion`` takes its place. Both are counted in the run's summary.

    :param model: a resolver: the one that ships, or a folder. :param weight: what a certain term counts, where a word
        of the question counts 1. :param least: probability from which on a term is searched.
    """

    model: str = "resolver"
    weight: Annotated[float, Field(gt=0, le=10)] = 0.4
    least: Probability = 0.2
    options: ModelOptions | None = None

    @cached_property
    def _resolver(self) -> Resolver:
        return load_resolver(self.model, Options(**(self.options or {})))

    def models(self) -> Mapping[str, Resolver]:
        return {"resolver": self._resolver}

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        rewrites = [Rewrite.unchanged(open_question(turn)) for turn in turns]
        asked = []
        for place, turn in enumerate(turns):
            said = said_before(turn)
            if said and not reads(rewrites[place].text, turn.language):
                rewrites[place] = replace(Expansion().rewrite(turn), notes=(FOREIGN,))
            elif said and replied_only(said):
                rewrites[place] = replace(Expansion().rewrite(turn), notes=(QUOTED,))
            elif said and rewrites[place].text.strip():
                asked.append((place, said))
        if not asked:
            return rewrites
        resolutions = self._resolver.resolve([(rewrites[place].text, said) for place, said in asked])
        for (place, _), resolution in zip(asked, resolutions, strict=True):
            rewrites[place] = self._rewrite(rewrites[place].text, resolution, turns[place].language)
        return rewrites

    def _rewrite(self, question: str, resolution: Resolution, language: str) -> Rewrite:
        terms = needed(question, resolution, self.least, analyzer(language))
        weighted = tuple((term, self.weight * probability) for term, probability in terms)
        return Rewrite(self._text(question, resolution, terms), (Query(question, weighted),))

    def _text(self, question: str, resolution: Resolution, terms: Sequence[tuple[str, float]]) -> str:
        raise NotImplementedError


def reads(question: str, language: str) -> bool:
    """Whether a resolver can read a question: in its language, and most of the letters are Latin ones.

    >>> reads("When was he born?", "en"), reads("Wann wurde er geboren?", "de"), reads("\u4ed6\u5728\u54ea\u91cc", "en")
    (True, False, False)
    """
    return language == LANGUAGE and latin(question)


def replied_only(said: Sequence[Past]) -> bool:
    """Whether every answer is a bare yes or no: then the questions quote the passage that is looked for.

    >>> replied_only([Past("Are you over 60?", "Yes"), Past("Do you live in Wales?", "no.")])
    True
    """
    return all(exchange.question and _REPLY.fullmatch(exchange.answer.strip()) for exchange in said)


def needed(question: str, resolution: Resolution, least: float, analysis: Analyzer) -> list[tuple[str, float]]:
    """The words of the history from a probability on, each stem once with its highest, in the order they were said.

    Stop words and words that the question has in any form are left out.
    """
    known = set(analysis.tokens(question))
    chances: dict[str, float] = {}
    written: dict[str, str] = {}
    for word, probability in resolution.terms:
        plain = word.lower().replace("\u2019", "'")
        stem = analysis.stem(plain)
        if probability < least or stem in known or len(plain) < 2 or plain in analysis.long_stopwords or plain == "'s":
            continue
        written.setdefault(stem, word)
        chances[stem] = max(chances.get(stem, 0.0), probability)
    return [(written[stem], chances[stem]) for stem in written]
