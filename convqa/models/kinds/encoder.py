"""Encode texts as vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from convqa.errors import InputError
from convqa.files import log
from convqa.models.cache import Cache
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.shared import shared
from convqa.models.types import Array, Choice, Network, NetworkModel, Options, Role
from convqa.places import cache_folder
from convqa.validation import shorten

_MOST_IN_PROCESS = 20_000
"""Maximum vectors in a process: 31 MB with 384 dimensions."""

_MOST_IN_FILE = 1_000_000
"""Maximum vectors in the file: 2.1 GB with 384 dimensions."""

_PROBES = ("What did he write?", "In 1808 \u201cFaust\u201d was printed in T\u00fcbingen, 309 pages long.")


class TextEncoder(NetworkModel):
    """Encodes texts as vectors of length 1, whose inner product is the cosine. Thread-safe.

    ``family`` identifies weights and tokenizer in any precision; vectors of two families cannot be compared.
    """

    def __init__(
        self,
        folder: ModelFolder,
        choice: Choice,
        network: Network,
    ) -> None:
        super().__init__(folder, choice, network)
        self.family = folder.family
        self.dimension = network.dimension
        self.languages = folder.languages
        self._prefixes = folder.prefixes
        use = folder.published
        if use is not None and not self._prefixes and not folder.asked:
            log.warning(
                "the encoder %s is used without the prompts of its family, which costs quality: name it '%s?query=%s"
                "&passage=%s', or '%s?query=' to do without",
                self.name,
                self.name,
                use.query,
                use.passage,
                self.name,
            )
        # On torch, texts share batches, which may change the last digits of a vector.
        self._remembers = choice.engine == "onnx"

    def knows(self, language: str) -> bool:
        """Return whether the model supports a language. True if its languages are unknown."""
        return not self.languages or language in self.languages

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Array:
        """Return the vectors of texts, shape (n, dimension) in float32. Texts are truncated to ``max_tokens``.

        :param role: some models need different prefixes before queries and passages.
        :raises InputError: for one string instead of a list.
        :raises WorkError: if the model returns invalid numbers.
        """
        if isinstance(texts, str):
            raise InputError(f"texts: expected a list of strings, got {shorten(texts)}.")
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._run(self._prefixed(texts, role))

    def remembered(self, texts: Sequence[str], role: Role = "passage") -> Array:
        """Encode like :meth:`encode`, but on ONNX Runtime with a cache: for passages also a file of all processes."""
        if not self._remembers or not texts:
            return self.encode(texts, role)
        prefixed = self._prefixed(texts, role)

        def compute(indexes: list[int]) -> list[bytes]:
            vectors = self._run([prefixed[index] for index in indexes])
            return [vector.tobytes() for vector in vectors]

        inputs = [text.encode("utf-8", "surrogatepass") for text in prefixed]
        rows = self._caches[role].each(inputs, compute)
        return np.stack([np.frombuffer(row, np.float32) for row in rows])

    @cached_property
    def _caches(self) -> dict[Role, Cache]:
        # Vectors of two probes cover what else affects results, such as library versions and processor instructions.
        salt = self.identity.encode() + self._run(_PROBES).tobytes()
        path = None if shared() else cache_folder() / "vectors" / "vectors.sqlite"
        return {
            "query": Cache(salt, _MOST_IN_PROCESS),
            "passage": Cache(salt, _MOST_IN_PROCESS, path, _MOST_IN_FILE, "vectors are computed again each time"),
        }

    def _run(self, texts: Sequence[str]) -> Array:
        outputs = self.outputs(self._network.tokenizer.texts(texts))
        return np.stack([vector for (vector,) in outputs])

    def _prefixed(self, texts: Sequence[str], role: Role) -> Sequence[str]:
        prefix = self._prefixes.get(role, "")
        return [prefix + text for text in texts] if prefix else texts


def load_encoder(
    name: str,
    options: Options = Options(),  # noqa: B008 - frozen
) -> TextEncoder:
    """Load the encoder with a name, once per process.

    :raises InputError: if the model is unknown, damaged, not an encoder, or cannot run with these options.
    """
    return load_once("encoder", name, options, TextEncoder)
