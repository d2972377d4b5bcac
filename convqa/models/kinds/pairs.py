"""Pairs of texts to scores: cross-encoders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convqa.errors import WorkError
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Model, Network, Options, Pair


class PairScorer(Model):
    """How well the second text of a pair answers the first: higher is better. Safe to call from several threads."""

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.max_tokens = network.tokenizer.max_tokens
        self._network = network

    def score(self, pairs: Sequence[Pair]) -> Array:
        """One score for each pair (query, passage): an array (n,) in float32. The longer text is cut where needed.

        :raises WorkError: if the model makes something that is no score.
        """
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        made = np.stack([score for (score,) in self._network.run(self._network.tokenizer.pairs(pairs))])
        if made.shape != (len(pairs),) or not np.isfinite(made).all():
            raise WorkError(f"the scorer {self.name!r} made no scores; try: convqa models check {self.name}")
        return made


def load_pair_scorer(name: str, options: Options = Options()) -> PairScorer:  # noqa: B008 - frozen
    """The scorer of that name, loaded once per process: a model with a head for classification of sequences.

    :raises InputError: if there is none, if it is damaged, no scorer, or cannot be run as the options ask.
    """
    return load_once("pairs", find_model(name), options, PairScorer)
