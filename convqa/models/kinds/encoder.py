"""Encode texts as vectors."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.files import log
from convqa.models.cache import Cache
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.once import once
from convqa.models.shared import shared
from convqa.models.types import Array, Choice, Model, Network, NetworkModel, Options, Role
from convqa.places import cache_folder
from convqa.validation import shorten

_ADDRESS_FORM = (
    "https://HOST/v1?model=MODEL, with &key=VARIABLE if the environment variable VARIABLE holds a key, and "
    "&query=TEXT&passage=TEXT for what to put before such texts"
)

_ROLES: tuple[Role, ...] = ("query", "passage")

_TEXTS_PER_REQUEST = 32
"""Some servers refuse more."""

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


class RemoteEncoder(TextEncoder):
    """An encoder on a server with OpenAI's ``/v1/embeddings``, identified by the model's name.

    :param address: ``https://HOST/v1?model=MODEL``, with ``&key=VARIABLE`` if an environment variable holds a key.
    :raises InputError: for a malformed address, and from any method if the server rejects the request.
    :raises StoreUnavailable: from any method if the server does not answer.
    """

    def __init__(self, address: str) -> None:
        from openai import OpenAI

        parts = urlsplit(address)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        has_fields = {"model"} <= set(query) <= {"model", "key", "query", "passage"}
        if not parts.hostname or "@" in parts.netloc or not has_fields:
            raise InputError(f"malformed address of an encoder; expected {_ADDRESS_FORM}.")
        model = query["model"]
        variable = query.get("key", "")
        if variable and not os.environ.get(variable):
            raise InputError(f"the encoder {model!r} needs a key, but the environment variable {variable} is not set.")
        prompts = [query[role] for role in ("passage", "query") if query.get(role)]
        self.family = _digest(model, *filter(None, [query.get("passage")]))
        Model.__init__(self, address, _digest(model, *prompts), "a server")
        server = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/embeddings')}"
        self.languages = []
        self.max_tokens = 0
        self._prefixes = {role: query[role] for role in _ROLES if role in query}
        self._remembers = False
        self._model = model
        self._label = f"the encoder {model!r} at {server}"
        self._client = OpenAI(
            base_url=server,
            api_key=os.environ.get(variable) or "none",
            timeout=60,
        )
        self.dimension = len(self._request(["vector"])[0])

    def _run(self, texts: Sequence[str]) -> Array:
        rows: list[list[float]] = []
        for start in range(0, len(texts), _TEXTS_PER_REQUEST):
            rows += self._request(texts[start : start + _TEXTS_PER_REQUEST])
        invalid = WorkError(f"{self._label} returned invalid vectors for {len(texts)} texts.")
        dimensions = {len(row) for row in rows}
        if len(rows) != len(texts) or dimensions != {self.dimension}:
            raise invalid
        vectors = np.array(rows, np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise invalid
        return np.asarray(vectors / lengths, np.float32)

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        from openai import APIConnectionError, APIStatusError

        nonblank = [text if text.strip() else "." for text in texts]
        try:
            response = self._client.embeddings.create(
                model=self._model,
                input=nonblank,
                encoding_format="float",
            )
        except APIConnectionError as error:
            raise StoreUnavailable(f"{self._label} does not answer.") from error
        except APIStatusError as error:
            # The server's message is not repeated, because it may contain the key.
            status = f"{self._label} answers with status {error.status_code}."
            if error.status_code >= 500 or error.status_code == 429:
                raise StoreUnavailable(status) from None
            raise InputError(f"{status} Check address, model and key; expected {_ADDRESS_FORM}.") from None
        items = sorted(response.data, key=lambda item: item.index)
        return [item.embedding for item in items]


def _digest(*parts: str) -> str:
    return f"sha256:{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()}"


def load_encoder(
    name: str,
    options: Options = Options(),  # noqa: B008 - frozen
) -> TextEncoder:
    """Load the encoder with a name or a server's address, once per process.

    :raises InputError: if the model is unknown, damaged, not an encoder, or cannot run with these options.
    """
    if name.startswith(("http://", "https://")):
        return once(("encoder", name), lambda: RemoteEncoder(name))
    return load_once("encoder", name, options, TextEncoder)
