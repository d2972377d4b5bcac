"""Encode a question with its history as a vector, to search among the vectors of an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.resolver_input import Past, lay_out
from convqa.models.types import Array, Choice, Network, NetworkModel, Options, TokenSequence

MAX_TOKENS = 128


class QueryEncoderFields(BaseModel):
    """Manifest fields of query encoders. ``family``: that of the encoder whose vectors it was trained on."""

    family: str


class QueryEncoder(NetworkModel):
    """Encodes questions of a conversation as vectors of length 1, like those that ``encoder`` makes of their rewrites.

    It is never a search's only vector: after a change of topic it strays, and without a history the encoder itself is
    better (docs/benchmarks/vectors.md). ``family`` is that of the encoder. Thread-safe.
    """

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder, choice, network)
        network.tokenizer.inner.no_truncation()
        self.family = folder.settings(QueryEncoderFields, network.settings).family

    def encode(self, turns: Sequence[tuple[str, Sequence[Past]]]) -> Array:
        """Return the vectors of questions with their histories (oldest first), shape (n, dimension) in float32."""
        sequences = []
        for question, history in turns:
            layout = lay_out(question, history, self._network.tokenizer.inner, self.max_tokens)
            sequences.append(TokenSequence(layout.ids, layout.types))
        return np.stack([vector for (vector,) in self.outputs(sequences)])


def load_query_encoder(name: str) -> QueryEncoder:
    """Load a query encoder, once per process.

    :raises InputError: if the model is unknown, damaged, or of another kind.
    """
    return load_once("query_encoder", name, Options(), QueryEncoder)
