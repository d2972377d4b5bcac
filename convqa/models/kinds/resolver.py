"""The resolver: what of the history a question needs, and the question written out with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import BaseModel, Field

from convqa.errors import InputError, WorkError
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.resolver_input import Layout, Past, lay_out
from convqa.models.kinds.resolver_output import Scores, edited, term_probabilities
from convqa.models.source import find_model
from convqa.models.tokens import Tokens
from convqa.models.types import Choice, Model, Network, Options

LEAST_TOKENS = 128
"""Tokens of a sequence that a question and the first question of its history have room in."""


class Settings(BaseModel):
    """The fields of a manifest that only resolvers have.

    ``patterns``: what may come before a word, with a slot for words of the history.
    """

    patterns: tuple[str, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the resolver says of one turn."""

    _layout: Layout = field(repr=False)
    _scores: Scores = field(repr=False)
    _patterns: tuple[str, ...] = field(repr=False)

    @property
    def terms(self) -> list[tuple[str, float]]:
        """Each word of the history, as it was written, with the probability that the question needs it.

        The oldest exchange comes first, of each its answer. A word that was said several times stands there as often.
        """
        found = term_probabilities(self._layout, self._scores)
        found.sort(key=lambda one: (-one[0].utterance, one[0].start))
        return [(self._layout.text(word), chance) for word, chance in found]

    def text(self, sure: float = 0.2) -> str:
        """The self-contained question; the question itself where nothing is missing.

        :param sure: the probability from which on a phrase is put in.
        """
        text, edits = edited(self._layout, self._scores, self._patterns, sure)
        return text if edits else self._layout.utterances[0]


class Resolver(Model):
    """Reads a question with its history, one sequence at a time. Safe to call from several threads.

    ``checksum`` names weights, tokenizer and patterns.
    """

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.max_tokens = network.tokenizer.max_tokens
        self._tokenizer = network.tokenizer.inner
        self._tokenizer.no_truncation()
        self._run = network.run
        self._patterns = folder.settings(Settings, network.settings).patterns

    def resolve(self, turns: Sequence[tuple[str, Sequence[Past]]]) -> list[Resolution]:
        """What each question needs of its history (oldest first), in order.

        :raises WorkError: if the model makes something that is no number.
        """
        layouts = [lay_out(question, said, self._tokenizer, self.max_tokens) for question, said in turns]
        made = self._run([Tokens(layout.ids, layout.types) for layout in layouts])
        if any(np.isnan(output).any() for outputs in made for output in outputs):
            raise WorkError(f"the resolver {self.name!r} made no numbers; try: convqa models check {self.name}")
        return [Resolution(layout, Scores(*outputs), self._patterns)
                for layout, outputs in zip(layouts, made, strict=True)]  # fmt: skip


def load_resolver(name: str, options: Options = Options()) -> Resolver:  # noqa: B008 - frozen
    """The resolver of that name, loaded once per process.

    :raises InputError: if there is none, if it is damaged, no resolver, or cannot be run as the options ask.
    """
    folder = find_model(name)
    if folder.manifest is None:
        raise InputError(f"{folder.path} holds a model of transformers; wanted one that convqa train resolver made.")
    return load_once("resolver", folder, options, Resolver)
