"""Read, verify and write the folder of a model.

A folder for ONNX Runtime has ``model.onnx``, ``tokenizer.json``, a model card and the manifest ``convqa.json``, with
the kind of model and the checksum of every file but the card. Any other folder is one of transformers (``config.json``
and weights), or has an encoder's graph as others publish it (``model.onnx`` or ``onnx/model.onnx``, and
``tokenizer.json``).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.files import read_json, unwritable
from convqa.models.sentence_files import Pooling, Published, Role, pooling_of, prefixes_of, published
from convqa.validation import Shape, read_as

MANIFEST = "convqa.json"
ONNX = "model.onnx"
TOKENIZER = "tokenizer.json"
CARD = "README.md"

_EXPORT = "The model may be of another version of convqa: make it again with convqa models export."
_PROMPTS = "config_sentence_transformers.json"
_WEIGHT_ENDINGS = (".safetensors", ".bin")
_RESULT_FILES = {
    TOKENIZER,
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    _PROMPTS,
    "generation_config.json",
    "merges.txt",
    "modules.json",
    "sentence_bert_config.json",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
}
"""Files besides the weights that affect the results of a model of transformers."""


class Manifest(BaseModel, frozen=True):
    """``convqa.json``. ``files``: name -> SHA-256 in hex. ``settings``: fields specific to the kind of model.

    ``languages``: codes such as ``en``, empty if unknown or for a multilingual model. ``source``: the checksum of the
    model of transformers that it was exported from.
    """

    format: Literal[1]
    kind: str
    name: str
    precision: Literal["float32", "int8"] = "float32"
    dimension: int | None = Field(default=None, ge=1)
    max_tokens: int = Field(default=512, ge=1)
    pooling: Literal["mean", "cls"] | None = None
    base: str = ""
    languages: list[str] = []
    licence: str = ""
    files: dict[Annotated[str, Field(pattern=r"^\w[\w.-]*$")], str]  # in the folder itself
    settings: dict[str, Any] = {}
    source: str = ""


class EncoderFields(BaseModel):
    """Manifest fields of encoders. ``prefixes``: what to put before a text, by role."""

    prefixes: dict[Role, str] = {}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a model. ``manifest`` is None if convqa did not make it.

    ``graph``: the file of a graph that others published. ``asked``: what the model's address says about an encoder:
    ``query`` and ``passage``, what to put before these texts, and ``pooling``.
    """

    name: str
    path: Path
    manifest: Manifest | None
    graph: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_onnx(self) -> bool:
        """Whether the model is a graph for ONNX Runtime rather than one of transformers."""
        return bool(self.graph) or (self.manifest is not None and ONNX in self.manifest.files)

    @property
    def prefixes(self) -> dict[Role, str]:
        """What an encoder puts before texts, by role: from the address, else from its files."""
        own = self._own_prefixes()
        return own | {role: self.asked[role] for role in ("query", "passage") if role in self.asked}

    def _own_prefixes(self) -> dict[Role, str]:
        if self.manifest is None:
            return prefixes_of(self.path)
        return self.settings(EncoderFields, self.manifest.settings).prefixes

    @property
    def published(self) -> Published | None:
        """What is known about the model's family by its name, or that of the model it was made of."""
        return published(f"{self.name} {self.manifest.base if self.manifest else ''}")

    @property
    def pooling(self) -> Pooling:
        """How an encoder's states become a vector: by the address, its files, or its family; else their mean."""
        asked: Any = self.asked.get("pooling")
        use = self.published
        return asked or pooling_of(self.path) or (use.pooling if use and self.graph else "mean")

    @property
    def languages(self) -> list[str]:
        """The languages in the manifest or the card, empty if unknown or for a multilingual model."""
        return languages_of(self.path) if self.manifest is None else self.manifest.languages

    @property
    def family(self) -> str:
        """The checksum of the original model of transformers, the same for its exports in any precision.

        What is put before queries does not count, because it does not change the vectors of passages.
        """
        original = (self.manifest.source if self.manifest else "") or self._digest(of_passages=True)
        own = self._own_prefixes().get("passage", "")
        passage = self.asked.get("passage", own)
        return original if passage == own else _digest_of(original, passage)

    def require_kind(self, kind: str) -> None:
        """Raise an ``InputError`` if the model is known to be of another kind."""
        given = "encoder" if self.graph else self.manifest and self.manifest.kind
        if given and given != kind:
            raise InputError(f"{self.path}: expected a model of kind {kind!r}, got kind {given!r}.")

    def settings(self, shape: type[Shape], values: Mapping[str, Any]) -> Shape:
        """Validate the settings specific to the kind of model."""
        return read_as(
            shape,
            values,
            f"{self.path / MANIFEST}: settings",
            _EXPORT,
        )

    def checksum(self) -> str:
        """Return 32 hex digits that identify the weights, the tokenizer and their settings."""
        digest = self._digest()
        return _digest_of(digest, *map(str, sorted(self.asked.items()))) if self.asked else digest

    def _digest(self, of_passages: bool = False) -> str:
        """:param of_passages: leave out what is put before queries."""
        if self.manifest is not None:
            about = self.manifest.model_dump(
                include={"kind", "dimension", "max_tokens", "pooling", "settings", "files"}
            )
            return _digest_of(orjson.dumps(about, option=orjson.OPT_SORT_KEYS).decode())
        files = [path.name for path in self.path.iterdir()]
        weights = (self.graph, TOKENIZER) if self.graph else _WEIGHT_ENDINGS
        names = sorted(name for name in files if name.endswith(weights) or name in _RESULT_FILES)
        names += [
            name for name in ("1_Pooling/config.json", self.graph) if "/" in name and (self.path / name).is_file()
        ]
        own = self._own_prefixes()
        if of_passages and own.get("query"):
            names.remove(_PROMPTS)
        lines = [f"{name} {file_hash(self.path / name)}\n" for name in names]
        if of_passages and own.get("query"):
            lines.append(own.get("passage", ""))
        return _digest_of("".join(lines))


def _digest_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def open_folder(name: str, path: Path) -> ModelFolder:
    """Return the model in a folder, after verifying the files in its manifest."""
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; expected the folder of a model.")
    if (path / MANIFEST).is_file():
        return ModelFolder(name, path, _verified(path))
    names = {file.relative_to(path).as_posix() for file in (*path.glob("*"), *path.glob("onnx/*.onnx"))}
    if "config.json" in names and any(name.endswith(_WEIGHT_ENDINGS) for name in names):
        return ModelFolder(name, path, None)
    graphs = sorted(name for name in names if name.endswith(".onnx"))
    graph = next((name for name in (ONNX, f"onnx/{ONNX}") if name in graphs), "")
    if not graph and len(graphs) == 1:
        graph = graphs[0]
    if graph and any(name.endswith(TOKENIZER) for name in names):
        return ModelFolder(name, path, None, graph)
    if "config.json" in names and not graphs:
        return ModelFolder(name, path, None)
    got = f"{', '.join(graphs)} without {TOKENIZER}" if graphs else "no model"
    raise InputError(
        f"{path}: this folder has {got}; expected {MANIFEST} (made by convqa models export), config.json and weights "
        f"(made by transformers), or one graph, {ONNX}, and {TOKENIZER}."
    )


def read_manifest(path: Path) -> Manifest:
    """Return the manifest ``convqa.json`` of a folder, without verifying files."""
    file = path / MANIFEST
    return read_as(
        Manifest,
        read_json(file, "the manifest of a model"),
        str(file),
        _EXPORT,
    )


def write_folder(
    target: Path,
    about: Mapping[str, Any],
    files: Mapping[str, Path | bytes],
) -> None:
    """Write a model's folder atomically.

    :param about: the manifest's fields, without ``format`` and ``files``.
    :param files: file name -> a file to copy, or its content.
    """
    check_target(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as aside:
            folder = Path(aside) / "model"
            folder.mkdir()
            for name, source in files.items():
                if isinstance(source, bytes):
                    (folder / name).write_bytes(source)
                else:
                    shutil.copyfile(source, folder / name)
            hashes = {name: file_hash(folder / name) for name in sorted(files) if name != CARD}
            manifest = Manifest(format=1, files=hashes, **about)
            text = orjson.dumps(manifest.model_dump(), option=orjson.OPT_INDENT_2)
            (folder / MANIFEST).write_bytes(text + b"\n")
            if target.is_dir():
                target.rmdir()  # empty; not every system replaces an empty folder
            folder.rename(target)
    except OSError as error:
        raise unwritable(str(target), error) from error


def check_target(target: Path) -> None:
    """Raise an ``InputError`` if the target exists and is not an empty folder."""
    is_empty = target.is_dir() and not any(target.iterdir())
    if target.exists() and not is_empty:
        raise InputError(f"{target}: already exists; name a new folder.")


def licence_of(folder: Path) -> str:
    """Return the license in the metadata of a model's card, "" if there is none."""
    match = re.search(r"^license:\s*(\S+)", _card(folder), re.M)
    return match[1] if match else ""


def languages_of(folder: Path) -> list[str]:
    """Return the two-letter languages in the metadata of a model's card, none if one is longer ("multilingual")."""
    match = re.search(r"^language:(.*(?:\n *- .*)*)", _card(folder), re.M)
    tags = re.findall(r"\w[\w-]*", match[1]) if match else []
    names = [tag.partition("-")[0].lower() for tag in tags]
    return names if all(len(name) == len("en") for name in names) else []


def _card(folder: Path) -> str:
    """Return the first 5,000 characters of a model's card, "" if it cannot be read."""
    try:
        return (folder / CARD).read_text(encoding="utf-8", errors="replace")[:5000]
    except OSError:
        return ""


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hex, cached for the process by modification time and size."""
    try:
        state = path.stat()
        return _hash(path.resolve(), state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Copy or make the model again.") from None


@cache
def _hash(path: Path, time: int, size: int) -> str:  # noqa: ARG001 - the key of the cache
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _verified(path: Path) -> Manifest:
    manifest = read_manifest(path)
    for name, checksum in manifest.files.items():
        if file_hash(path / name) != checksum:
            raise InputError(
                f"{path / name}: the checksum differs from {MANIFEST}: the file is damaged or was replaced. Copy or "
                "make the model again."
            )
    return manifest
