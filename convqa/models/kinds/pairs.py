"""Pairs of texts to scores: cross-encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError, WorkError
from convqa.models.folder import Manifest, ModelFolder
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.tokens import Tokenizer, Tokens, load_tokenizer
from convqa.models.types import Choice, Identified, Options, choose

Scores = Callable[[Sequence[Tokens]], NDArray[np.float32]]
"""Sequences of tokens, each a pair -> one number each, in order."""


class PairScorer(Identified):
    """How well the second text of a pair answers the first: higher is better. Safe to call from several threads."""

    def __init__(self, folder: ModelFolder, choice: Choice, tokenizer: Tokenizer, scores: Scores) -> None:
        self.name = folder.name
        self.checksum = folder.checksum()
        self.max_tokens = tokenizer.max_tokens
        self.runs = choice
        self._tokenizer = tokenizer
        self._scores = scores

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """One score for each pair (query, passage): an array (n,) in float32. The longer text is cut where needed.

        :raises WorkError: if the model makes something that is no score.
        """
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        made = self._scores(self._tokenizer.pairs(pairs))
        if made.shape != (len(pairs),) or not np.isfinite(made).all():
            raise WorkError(f"the scorer {self.name} made no scores; try: convqa models check {self.name}")
        return made


def load_pair_scorer(name: str, options: Options = Options()) -> PairScorer:  # noqa: B008 - frozen
    """The scorer of that name, loaded once per process: a model with a head for classification of sequences.

    :raises InputError: if there is none, if it is damaged, no scorer, or cannot be run as the options ask.
    """
    folder = find_model(name)
    choice = choose(folder, options)
    return once(("pairs", folder.path, folder.checksum(), choice), lambda: _load(folder, choice))


def _load(folder: ModelFolder, choice: Choice) -> PairScorer:
    if choice.engine == "onnx" and folder.manifest is not None:
        return _onnx(folder, folder.manifest, choice)
    from convqa.models.engines.torch.pairs import load

    return load(folder, choice)


def _onnx(folder: ModelFolder, manifest: Manifest, choice: Choice) -> PairScorer:
    from convqa.models.engines.onnx import OnnxModel

    if manifest.kind != "pairs":
        raise InputError(f"{folder.path} holds a model of kind {manifest.kind!r}; wanted a scorer of pairs.")
    model = OnnxModel(folder.path)

    def scores(sequences: Sequence[Tokens]) -> NDArray[np.float32]:
        return np.concatenate([outputs[0] for outputs in model.run_tokens(sequences)]).astype(np.float32, copy=False)

    tokenizer = load_tokenizer(folder.path, manifest.max_tokens)
    return PairScorer(folder, choice, tokenizer, scores)
