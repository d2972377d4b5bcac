"""The resolver: which words of the history a question needs, and the question rewritten with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.resolver_input import Layout, Past, lay_out
from convqa.models.kinds.resolver_output import Scores, edited, term_probabilities
from convqa.models.source import find_model
from convqa.models.tokens import Tokens
from convqa.models.types import Choice, Network, NetworkModel, Options

LEAST_TOKENS = 128
"""Minimum ``max_tokens``, which leaves room for a question and the first question of the history."""


class Settings(BaseModel):
    """Manifest fields of resolvers. ``patterns``: possible insertions, with a slot for words of the history."""

    patterns: tuple[str, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The resolver's result for one turn."""

    _layout: Layout = field(repr=False)
    _scores: Scores = field(repr=False)
    _patterns: tuple[str, ...] = field(repr=False)

    @property
    def terms(self) -> list[tuple[str, float]]:
        """Each occurrence of a word in the history, as written, with the probability that the question needs it.

        The oldest exchange comes first, and in each exchange the answer.
        """
        terms = term_probabilities(self._layout, self._scores)
        terms.sort(key=lambda term: (-term[0].utterance, term[0].start))
        return [(self._layout.text(word), probability) for word, probability in terms]

    def text(self, sure: float = 0.2) -> str:
        """Return the self-contained question, the question itself if nothing is missing.

        :param sure: minimum probability of an inserted phrase.
        """
        text, edits = edited(self._layout, self._scores, self._patterns, sure)
        return text if edits else self._layout.utterances[0]


class Resolver(NetworkModel):
    """Resolves questions with their history. Thread-safe."""

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder, choice, network)
        self._tokenizer = network.tokenizer.inner
        self._tokenizer.no_truncation()
        self._patterns = folder.settings(Settings, network.settings).patterns

    def resolve(self, turns: Sequence[tuple[str, Sequence[Past]]]) -> list[Resolution]:
        """Resolve each question with its history, oldest exchange first.

        :raises WorkError: if the model returns invalid numbers.
        """
        layouts = [lay_out(question, history, self._tokenizer, self.max_tokens) for question, history in turns]
        results = self._network.run([Tokens(layout.ids, layout.types) for layout in layouts])
        if any(np.isnan(output).any() for outputs in results for output in outputs):
            raise self.invalid("resolver")
        return [
            Resolution(layout, Scores(*outputs), self._patterns)
            for layout, outputs in zip(layouts, results, strict=True)
        ]


def load_resolver(name: str, options: Options = Options()) -> Resolver:  # noqa: B008 - frozen
    """Load a resolver, once per process.

    :raises InputError: if the model is unknown, damaged, not a resolver, or cannot run with these options.
    """
    folder = find_model(name)
    if folder.manifest is None:
        raise InputError(f"{folder.path}: expected a model made by convqa train resolver, got a model of transformers.")
    return load_once("resolver", folder, options, Resolver)
