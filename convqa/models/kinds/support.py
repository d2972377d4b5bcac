"""Does this evidence support this sentence: scorers by name, from one that asks no model to models of entailment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from convqa.errors import InputError, WorkError
from convqa.models.folder import SUPPORT, ModelFolder
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.kinds.heads import HeadSettings, head_encoder, read_head
from convqa.models.kinds.support_features import FEATURES, SHARE, Pair, features
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Identified, Options, choose
from convqa.text.support import CAP, IDENTITY, lexical_support

KIND = SUPPORT
LEXICAL = "lexical"

Number = Annotated[float, Field(allow_inf_nan=False)]
Scores = Callable[[Sequence[Pair], str], Sequence[float]]
"""Pairs of evidence and sentence, both with something in them, and their language -> a number each, in order."""


class Settings(HeadSettings):
    """A logistic regression over an encoder's vectors and words. ``weights``: feature -> weight."""

    weights: dict[str, Number]
    offset: Number


class Support(Identified):
    """How likely evidence supports a sentence, 0 to 1: from .5 on it is taken to. Safe to call from several threads.

    ``identity``: what of it a run's fingerprint holds; two that have the same give the same scores.
    """

    def __init__(self, name: str, checksum: str, runs: str, scores: Scores) -> None:
        self.name = name
        self.checksum = checksum
        self.runs = runs
        self._scores = scores

    def score(self, pairs: Sequence[Pair], language: str = "en") -> list[float]:
        """One score for each pair (evidence text, sentence), in order; 0 where either is blank.

        :raises InputError: for a language without an analysis, which all but models of entailment need.
        :raises WorkError: if the model makes something that is no score.
        """
        there = [place for place, (evidence, sentence) in enumerate(pairs) if evidence.strip() and sentence.strip()]
        found = [0.0] * len(pairs)
        made = self._scores([pairs[place] for place in there], language) if there else []
        for place, score in zip(there, made, strict=True):
            if not 0 <= score <= 1:
                raise WorkError(f"the support check {self.name} made no score; try: convqa models check {self.name}")
            found[place] = float(score)
        return found


def load_support(name: str = KIND, options: Options = Options()) -> Support:  # noqa: B008 - frozen
    """The support check of that name, loaded once per process.

    :param name: ``lexical``, which asks no model; ``support``, which ships; or a folder or a Hugging Face name, of
        another such head or of a model of entailment (NLI) for transformers.
    :raises InputError: if there is none, if it is damaged, no such model, or cannot be run as the options ask.
    """
    if name == LEXICAL:
        return Support(LEXICAL, IDENTITY, "no model", _lexical)
    folder = find_model(name)
    if folder.manifest is None:
        choice = choose(folder, options)
        return once((KIND, folder.path, folder.checksum(), choice), lambda: _entailment(folder, options))
    if folder.manifest.kind != KIND:
        raise InputError(
            f"{folder.path} holds a model of kind {folder.manifest.kind!r}; wanted one of kind {KIND!r}, a model of "
            f"entailment as transformers has it, or {LEXICAL}."
        )
    return once((KIND, folder.path, folder.checksum(), options), lambda: _head(folder, options))


def head(encoder: TextEncoder, settings: Settings) -> Scores:
    """The scores that weights make of the features (:func:`judged`)."""
    weights = np.array([settings.weights[feature] for feature in FEATURES])

    def scores(pairs: Sequence[Pair], language: str) -> Sequence[float]:
        return [float(one) for one in judged(features(encoder, pairs, language), weights, settings.offset)]

    return scores


def judged(rows: NDArray[np.float64], weights: NDArray[np.float64], offset: float) -> NDArray[np.float64]:
    """The probabilities; at most ``CAP`` where the evidence has no word of the sentence, whatever else is alike."""
    made = probabilities(rows, weights, offset)
    return np.where(rows[:, FEATURES.index(SHARE)] > 0, made, np.minimum(made, CAP))


def probabilities(rows: NDArray[np.float64], weights: NDArray[np.float64], offset: float) -> NDArray[np.float64]:
    """sigmoid(rows x weights + offset)."""
    # Summed row by row: a product of matrices rounds in another way for other numbers of rows.
    made: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip((rows * weights).sum(axis=1) + offset, -700, 700)))
    return made


def _lexical(pairs: Sequence[Pair], language: str) -> Sequence[float]:
    return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]


def _head(folder: ModelFolder, options: Options) -> Support:
    settings = read_head(folder, Settings)
    encoder = head_encoder(folder, settings, [settings.weights], FEATURES, options)
    return Support(folder.name, folder.checksum(), str(encoder.runs), head(encoder, settings))


def _entailment(folder: ModelFolder, options: Options) -> Support:
    from convqa.models.engines.torch.entailment import load

    choice = choose(folder, options)
    return Support(folder.name, folder.checksum(), str(choice), load(folder, choice))
