"""Text to vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from convqa.errors import WorkError
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Model, Network, Options, Role


class Settings(BaseModel):
    """What of an encoder's manifest only encoders have. ``prefixes``: what is put before a text, by what it is."""

    prefixes: dict[Role, str] = {}


class TextEncoder(Model):
    """Texts as vectors of length 1, so that the inner product is the cosine. Safe to call from several threads.

    ``checksum`` names weights and tokenizer: vectors of two checksums cannot be compared. ``runs`` says how it runs.
    """

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.dimension = network.dimension
        self.max_tokens = network.tokenizer.max_tokens
        self._prefixes = folder.settings(Settings, network.settings).prefixes
        self._network = network

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Array:
        """The vectors of texts: an array (n, dimension) in float32. Texts beyond ``max_tokens`` are cut.

        :param role: what the texts are; some models want different prefixes before questions and passages.
        :raises WorkError: if the model makes something that is no vector.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        prefix = self._prefixes.get(role, "")
        tokens = self._network.tokenizer.texts([prefix + text for text in texts] if prefix else texts)
        made = np.stack([vector for (vector,) in self._network.run(tokens)])
        if made.shape != (len(texts), self.dimension) or not np.isfinite(made).all():
            raise WorkError(f"the encoder {self.name} made no vectors; try: convqa models check {self.name}")
        return made


def load_encoder(name: str, options: Options = Options()) -> TextEncoder:  # noqa: B008 - frozen
    """The encoder of that name, loaded once per process.

    :raises InputError: if there is none, if it is damaged, no encoder, or cannot be run as the options ask.
    """
    return load_once("encoder", find_model(name), options, TextEncoder)
