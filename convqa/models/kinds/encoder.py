"""Text to vectors."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import get_args
from urllib.parse import parse_qs, urlsplit

import numpy as np
from pydantic import BaseModel

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.models.engines import load_once
from convqa.models.folder import QUERY_WEIGHTS, ModelFolder
from convqa.models.memory import Memory
from convqa.models.once import once
from convqa.models.shared import shared
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Model, Network, Options, Role
from convqa.validation import shorten

_FORM = "https://HOST/v1?model=MODEL, and &key=VARIABLE where the environment's VARIABLE holds the key"
_AT_ONCE = 32
"""Texts of one request to a server: some refuse more."""


class Settings(BaseModel):
    """The fields of a manifest that only encoders have. ``prefixes``: texts to put before a text, by its kind."""

    prefixes: dict[Role, str] = {}


class TextEncoder(Model):
    """Texts as vectors of length 1, so that the inner product is the cosine. Safe to call from several threads.

    ``family`` names weights and tokenizer, whatever the precision: vectors of two families cannot be compared.
    ``runs`` says how it runs. ``sparse``: its vectors are weights of tokens instead.
    """

    sparse = False

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder.name, folder.checksum(), choice)
        self.family = folder.family
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
        return self._memory.vectors(self._prefixed(texts, role), keep and shared() is None)

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


class SparseEncoder(TextEncoder):
    """Texts as weights of the tokens of a vocabulary, of which most are 0 and none is negative, as SPLADE makes them.

    Where the folder has a table of weights, those of a query come from there: of its tokens, each once.
    """

    sparse = True

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder, choice, network)
        file = next((folder.path / name for name in QUERY_WEIGHTS if (folder.path / name).is_file()), None)
        self._table = None if file is None else _table(file, network)

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Array:
        if role == "passage" or self._table is None:
            return super().encode(texts, role)
        made = np.zeros((len(texts), self.dimension), np.float32)
        for row, tokens in zip(made, self._network.tokenizer.texts(texts), strict=True):
            row[tokens.ids] = self._table[tokens.ids]
        return made


def _table(file: Path, network: Network) -> Array:
    """The weights of a query's tokens by number: 0 for special tokens, and for those that the file does not name."""
    table, inner = np.zeros(network.dimension, np.float32), network.tokenizer.inner
    special = inner.get_added_tokens_decoder()
    numbers = {token: number for token, number in inner.get_vocab().items() if number not in special}
    try:
        text = file.read_text(encoding="utf-8")
        for token, weight in json.loads(text).items() if file.suffix == ".json" else map(str.split, text.splitlines()):
            if token in numbers:
                table[numbers[token]] = float(weight)
        if not (np.isfinite(table) & (table >= 0)).all():
            raise ValueError("a weight is negative or infinite")
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{file}: wanted tokens with their weights ({error}). Copy the model again.") from error
    return table


class RemoteEncoder(TextEncoder):
    """An encoder that a server runs behind OpenAI's ``/v1/embeddings``, known by its model's name.

    :param address: ``https://HOST/v1?model=MODEL``, with ``&key=VARIABLE`` where the environment's VARIABLE is a key.
    :raises InputError: for another address, and from any method where the server refuses all requests alike.
    :raises StoreUnavailable: from any method, where the server does not answer.
    """

    longer = lambda *_: 0  # noqa: E731 - nobody knows

    def __init__(self, address: str) -> None:
        from openai import OpenAI

        parts, given = urlsplit(address), parse_qs(urlsplit(address).query)
        if not parts.hostname or "@" in parts.netloc or not {"model"} <= set(given) <= {"model", "key"}:
            raise InputError(f"an encoder's address has another form; wanted: {_FORM}.")
        model, variable = given["model"][0], given.get("key", [""])[0]
        if variable and not os.environ.get(variable):
            raise InputError(f"the encoder {model!r} wants a key, and {variable} is not in the environment.")
        super(TextEncoder, self).__init__(address, f"sha256:{hashlib.sha256(model.encode()).hexdigest()}", "a server")
        self.family = self.checksum
        self._server, self._model = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/embeddings')}", model
        self._client = OpenAI(base_url=self._server, api_key=os.environ.get(variable) or "none", timeout=60)
        self._prefixes, self._memory, self.languages, self.max_tokens = {}, None, [], 0
        self.dimension = len(self._asked(["vector"])[0])

    def _run(self, texts: Sequence[str]) -> Array:
        chunks = [texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE)]
        rows = [row for chunk in chunks for row in self._asked(chunk)]
        made = np.array(rows, np.float32) if {len(row) for row in rows} == {self.dimension} else np.zeros((1, 1))
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        if len(made) != len(texts) or not (np.isfinite(lengths) & (lengths > 0)).all():
            raise WorkError(f"the encoder {self._model!r} at {self._server} made no vectors of {len(texts)} texts.")
        return np.asarray(made / lengths, np.float32)

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        from openai import APIConnectionError, APIStatusError

        who = f"the encoder {self._model!r} at {self._server}"
        wanted = [text if text.strip() else "." for text in texts]
        try:
            answer = self._client.embeddings.create(model=self._model, input=wanted, encoding_format="float")
        except APIConnectionError as error:
            raise StoreUnavailable(f"{who} does not answer.") from error
        except APIStatusError as error:
            # The server's own words are not repeated: they may quote the key.
            if error.status_code >= 500 or error.status_code == 429:
                raise StoreUnavailable(f"{who} answers with status {error.status_code}.") from None
            told = f"{who} refuses with status {error.status_code}"
            raise InputError(f"{told}. Check address, model and key; wanted: {_FORM}.") from None
        return [each.embedding for each in sorted(answer.data, key=lambda each: each.index)]


def load_encoder(name: str, options: Options = Options(), sparse: bool = False) -> TextEncoder:  # noqa: B008 - frozen
    """The encoder of that name, or of a server's address, loaded once per process.

    :param sparse: whether a masked language model is wanted, that weighs tokens.
    :raises InputError: if there is none, if it is damaged, no encoder, or cannot be run as the options ask.
    """
    if sparse:
        return load_once("sparse", find_model(name), options, SparseEncoder)
    if name.startswith(("http://", "https://")):
        return once(("encoder", name), lambda: RemoteEncoder(name))
    return load_once("encoder", find_model(name), options, TextEncoder)
