"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
from pydantic import BaseModel

from convqa.errors import InputError, WorkError
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.memory import Memory
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Model, Network, Options, Role
from convqa.validation import shorten


class Settings(BaseModel):
    """The fields of a manifest that only encoders have. ``prefixes``: texts to put before a text, by its kind."""

    prefixes: dict[Role, str] = {}


class TextEncoder(Model):
    """Texts as vectors of length 1, so that the inner product is the cosine. Safe to call from several threads.

    ``checksum`` names weights and tokenizer: vectors of two checksums cannot be compared. ``runs`` says how it runs.
    """

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.dimension = network.dimension
        self.max_tokens = network.tokenizer.max_tokens
        self.languages = folder.languages
        self._prefixes = folder.settings(Settings, network.settings).prefixes
        self._network = network
        # On torch texts share batches, and a vector depends on what it is made with.
        self._memory = Memory(self._run, self.identity) if choice.engine == "onnx" else None

    def knows(self, language: str) -> bool:
        """Whether its vectors say what texts of a language mean, as far as its makers tell."""
        return not self.languages or language in self.languages

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Array:
        """The vectors of texts: an array (n, dimension) in float32. Texts beyond ``max_tokens`` are cut.

        :param role: what the texts are; some models want different prefixes before questions and passages.
        :raises InputError: for what is no list of texts, and an unknown role.
        :raises WorkError: if the model makes something that is no vector.
        """
        if isinstance(texts, str) or not isinstance(texts, Sequence) or not all(isinstance(one, str) for one in texts):
            raise InputError(f"texts: found {shorten(texts)}; wanted a list of strings.")
        if role not in get_args(Role):
            raise InputError(f"role: found {role!r}; wanted {' or '.join(get_args(Role))}.")
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._run(self._prefixed(texts, role))

    def remembered(self, texts: Sequence[str], role: Role = "passage", keep: bool = False) -> Array:
        """As :meth:`encode`, but on ONNX Runtime what was encoded before is not encoded again.

        :param keep: for other processes too, in the cache (:mod:`convqa.models.memory`).
        """
        if self._memory is None or not texts:
            return self.encode(texts, role)
        return self._memory.vectors(self._prefixed(texts, role), keep)

    def _run(self, texts: Sequence[str]) -> Array:
        made = np.stack([vector for (vector,) in self._network.run(self._network.tokenizer.texts(texts))])
        if made.shape != (len(texts), self.dimension) or not np.isfinite(made).all():
            raise WorkError(f"the encoder {self.name!r} made no vectors; try: convqa models check {self.name}")
        return made

    def longer(self, texts: Sequence[str], role: Role = "passage") -> int:
        """How many texts are beyond ``max_tokens``, so that their vectors are of their beginnings."""
        return self._network.tokenizer.longer(self._prefixed(texts, role))

    def _prefixed(self, texts: Sequence[str], role: Role) -> Sequence[str]:
        prefix = self._prefixes.get(role, "")
        return [prefix + text for text in texts] if prefix else texts


def load_encoder(name: str, options: Options = Options()) -> TextEncoder:  # noqa: B008 - frozen
    """The encoder of that name, loaded once per process.

    :raises InputError: if there is none, if it is damaged, no encoder, or cannot be run as the options ask.
    """
    return load_once("encoder", find_model(name), options, TextEncoder)
