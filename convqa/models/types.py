"""Types shared by the kinds of models, the engines and their callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError, WorkError
from convqa.files import replace_surrogates
from convqa.models.folder import TOKENIZER, ModelFolder
from convqa.models.sentence_files import Role as Role

if TYPE_CHECKING:
    import tokenizers


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """An input sequence. ``types``: 0 for the first text of a pair, 1 for the second."""

    ids: list[int]
    types: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """A tokenizer that truncates to ``max_tokens`` (with special tokens), in a pair the longer text, and never pads."""

    def __init__(self, inner: tokenizers.Tokenizer, max_tokens: int) -> None:
        self.inner = inner
        self.max_tokens = max_tokens
        inner.no_padding()
        inner.enable_truncation(max_tokens)

    def texts(self, texts: Sequence[str]) -> list[TokenSequence]:
        """Return the tokens of each text; lone surrogates count as U+FFFD."""
        return self._encode(replace_surrogates(list(texts)))

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[TokenSequence]:
        """Return the tokens of each pair of texts, as one sequence."""
        return self._encode([tuple(replace_surrogates(list(pair))) for pair in pairs])

    def _encode(self, inputs: list[Any]) -> list[TokenSequence]:
        encodings = self.inner.encode_batch_fast(inputs)
        return [TokenSequence(encoding.ids, encoding.type_ids) for encoding in encodings]


def load_tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """Load the tokenizer of a model's folder."""
    import tokenizers

    file = next(iter(sorted(folder.glob(f"*{TOKENIZER}"))), folder / TOKENIZER)
    try:
        inner = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exceptions
        raise InputError(f"{file}: is not a tokenizer ({error}). Copy or make the model again.") from error
    return Tokenizer(inner, max_tokens)


TorchDevice = Literal["cpu", "cuda", "mps"]
Device = Literal["auto", TorchDevice]
Precision = Literal["auto", "float32", "bfloat16"]

Pair = tuple[str, str]
"""Two texts that a model reads together."""

Array = NDArray[np.float32]

OUTPUTS = {
    "encoder": ("vectors",),
    "query_encoder": ("vectors",),
    "pairs": ("scores",),
    "reader": ("starts", "ends"),
    "resolver": ("terms", "deleted", "patterns", "starts", "ends", "needs"),
}
"""Kind of model -> names of the network's outputs."""

UNIT_OUTPUTS = ("marks", "tokens", "passage")
"""Further outputs of readers that score units (:mod:`convqa.models.kinds.unit_reader`)."""

PER_TOKEN = frozenset(["reader", "resolver"])
"""Kinds of models whose outputs have a token axis, except ``passage``."""

READER_TOKENS = 384
"""Maximum tokens of a reader's sequence."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a model. ``auto`` follows the rule in docs/reference/models.md."""

    device: Device = "auto"
    precision: Precision = "auto"


@dataclass(frozen=True, slots=True)
class Choice:
    """How a model runs: :class:`Options` without ``auto``."""

    engine: Literal["onnx", "torch"]
    device: TorchDevice
    precision: Literal["float32", "bfloat16", "int8"]

    def __str__(self) -> str:
        return f"{self.engine} {self.precision} on {self.device}"


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded network.

    ``run`` returns the outputs of each sequence, in the order of :data:`OUTPUTS`, then those in ``further``.
    ``dimension`` is that of an encoder's vectors. ``settings`` are the manifest's fields for this kind of model.
    """

    tokenizer: Tokenizer
    run: Callable[[Sequence[TokenSequence]], list[list[Array]]]
    dimension: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    further: tuple[str, ...] = ()


class Model:
    """A loaded model. ``checksum`` identifies its weights, tokenizer and settings; ``runs`` tells how it runs."""

    def __init__(self, name: str, checksum: str, runs: Choice | str) -> None:
        self.name = name
        self.checksum = checksum
        self.runs = runs

    @property
    def identity(self) -> str:
        """The model's entry in a run's fingerprint. Models with the same identity give the same results."""
        return f"{self.checksum} ({self.runs})"


class NetworkModel(Model):
    """A model with a network of its own. ``max_tokens``: the longest sequence that it reads."""

    runs: Choice

    def __init__(
        self,
        folder: ModelFolder,
        choice: Choice,
        network: Network,
    ) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.max_tokens = network.tokenizer.max_tokens
        self._network = network

    def outputs(self, sequences: Sequence[TokenSequence]) -> list[list[Array]]:
        """Run the network, whose outputs must be finite numbers."""
        results = self._network.run(sequences)
        for outputs in results:
            if not all(np.isfinite(output).all() for output in outputs):
                raise WorkError(f"the model {self.name!r} returned invalid numbers. Copy or make the model again.")
        return results
