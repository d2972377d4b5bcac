"""Text to vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from convqa.errors import InputError, WorkError
from convqa.models.folder import MANIFEST, Manifest, ModelFolder
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.tokens import Tokenizer, Tokens, load_tokenizer
from convqa.models.types import Choice, Identified, Options, choose
from convqa.validation import read_as

Role = Literal["query", "passage"]
Vectors = Callable[[Sequence[Tokens]], NDArray[np.float32]]
"""Sequences of tokens -> one row of length 1 each, in order."""


class Settings(BaseModel):
    """What of an encoder's manifest only encoders have. ``prefixes``: what is put before a text, by what it is."""

    prefixes: dict[Role, str] = {}


class TextEncoder(Identified):
    """Texts as vectors of length 1, so that the inner product is the cosine. Safe to call from several threads.

    ``checksum`` names weights and tokenizer: vectors of two checksums cannot be compared. ``runs`` says how it runs.
    """

    def __init__(
        self, folder: ModelFolder, choice: Choice, dimension: int, prefixes: Mapping[Role, str], tokenizer: Tokenizer,
        vectors: Vectors,
    ) -> None:  # fmt: skip
        self.name = folder.name
        self.checksum = folder.checksum()
        self.dimension = dimension
        self.max_tokens = tokenizer.max_tokens
        self.runs = choice
        self._prefixes = dict(prefixes)
        self._tokenizer = tokenizer
        self._vectors = vectors

    def encode(self, texts: Sequence[str], role: Role = "passage") -> NDArray[np.float32]:
        """The vectors of texts: an array (n, dimension) in float32. Texts beyond ``max_tokens`` are cut.

        :param role: what the texts are; some models want different prefixes before questions and passages.
        :raises WorkError: if the model makes something that is no vector.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        prefix = self._prefixes.get(role, "")
        made = self._vectors(self._tokenizer.texts([prefix + text for text in texts] if prefix else texts))
        if made.shape != (len(texts), self.dimension) or not np.isfinite(made).all():
            raise WorkError(f"the encoder {self.name} made no vectors; try: convqa models check {self.name}")
        return made


def load_encoder(name: str, options: Options = Options()) -> TextEncoder:  # noqa: B008 - frozen
    """The encoder of that name, loaded once per process.

    :raises InputError: if there is none, if it is damaged, no encoder, or cannot be run as the options ask.
    """
    folder = find_model(name)
    choice = choose(folder, options)
    return once(("encoder", folder.path, folder.checksum(), choice), lambda: _load(folder, choice))


def _load(folder: ModelFolder, choice: Choice) -> TextEncoder:
    if choice.engine == "onnx" and folder.manifest is not None:
        return _onnx(folder, folder.manifest, choice)
    from convqa.models.engines.torch.encoder import load

    return load(folder, choice)


def _onnx(folder: ModelFolder, manifest: Manifest, choice: Choice) -> TextEncoder:
    from convqa.models.engines.onnx import OnnxModel

    if manifest.kind != "encoder" or manifest.dimension is None:
        raise InputError(f"{folder.path} holds a model of kind {manifest.kind!r}; wanted an encoder.")
    where = f"{folder.path / MANIFEST}: settings"
    settings = read_as(Settings, manifest.settings, where, "Make the model again with convqa models export.")
    model = OnnxModel(folder.path)

    def vectors(sequences: Sequence[Tokens]) -> NDArray[np.float32]:
        return np.concatenate([outputs[0] for outputs in model.run_tokens(sequences)]).astype(np.float32, copy=False)

    tokenizer = load_tokenizer(folder.path, manifest.max_tokens)
    return TextEncoder(folder, choice, manifest.dimension, settings.prefixes, tokenizer, vectors)
