"""Score pairs of texts: cross-encoders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convqa.models.engines import load_once
from convqa.models.types import Array, NetworkModel, Options, Pair


class PairScorer(NetworkModel):
    """Scores how well the second text of a pair answers the first; higher is better. Thread-safe."""

    def score(self, pairs: Sequence[Pair]) -> Array:
        """Return one score per pair (query, passage), shape (n,) in float32. The longer text is truncated if needed.

        :raises WorkError: if the model returns invalid numbers.
        """
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        outputs = self.outputs(self._network.tokenizer.pairs(pairs))
        return np.array([score for (score,) in outputs])


def load_pair_scorer(name: str, options: Options = Options()) -> PairScorer:  # noqa: B008 - frozen
    """Load a scorer, a model for sequence classification, once per process.

    :raises InputError: if the model is unknown, damaged, not a scorer, or cannot run with these options.
    """
    return load_once("pairs", name, options, PairScorer)
