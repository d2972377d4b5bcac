"""A model's folder: what it holds, and whether that is whole.

A folder for ONNX Runtime holds ``model.onnx``, ``tokenizer.json``, a model card and ``convqa.json``, which names the
kind of model and the checksum of every file but the card. Any other folder is one of transformers' (``config.json``
and weights).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.files import read_json, unwritable
from convqa.validation import Shape, read_as

MANIFEST = "convqa.json"
ONNX = "model.onnx"
TOKENIZER = "tokenizer.json"
CARD = "README.md"

SUPPORT, CONDITIONS = "support", "conditions"
"""Kinds of models that are a few numbers in their manifest, over another model: they have no files of their own."""

QUERY_WEIGHTS = ("idf.json", "query_token_weights.txt")
"""Files of a sparse encoder that weigh the tokens of queries, without the network."""

_EXPORT = "Make the model again with convqa models export."
_WEIGHTS = (".safetensors", ".bin")
_SHAPING = {TOKENIZER, "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json",
            "spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "added_tokens.json", "config.json",
            "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json",
            "generation_config.json", "chat_template.jinja", "chat_template.json", *QUERY_WEIGHTS}  # fmt: skip


class Manifest(BaseModel, extra="forbid", frozen=True):
    """``convqa.json``. ``files``: name -> SHA-256 in hex; ``settings``: what only this kind of model has.

    ``languages``: those that it was made for, such as ``en``; none where that is not known, or it is for many.
    ``config``: transformers' configuration of the network, which torch needs to run the graph's weights.
    ``source``: the checksum of the model of transformers that it was exported from.
    """

    format: Literal[1]
    kind: str
    name: str
    precision: Literal["float32", "int8", "bfloat16"] = "float32"
    dimension: int | None = Field(default=None, ge=1)
    max_tokens: int = Field(default=512, ge=1)
    pooling: Literal["mean", "cls"] | None = None
    base: str = ""
    languages: list[str] = []
    licence: str = ""
    files: dict[str, str]
    settings: dict[str, Any] = {}
    config: dict[str, Any] = {}
    source: str = ""

    def want(self, kind: str, path: Path) -> None:
        """Raise unless the model is of a kind. :raises InputError: naming both kinds."""
        if self.kind != kind or (kind == "encoder" and self.dimension is None):
            wanted = {"encoder": "an encoder", "pairs": "a scorer of pairs"}.get(kind, f"a {kind}")
            raise InputError(f"{path} holds a model of kind {self.kind!r}; wanted {wanted}.")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that holds a model. ``manifest`` is None where convqa did not make it."""

    name: str
    path: Path
    manifest: Manifest | None

    @property
    def has_onnx(self) -> bool:
        """Whether the model is a graph for ONNX Runtime; else it is one of transformers'."""
        return self.manifest is not None and ONNX in self.manifest.files

    @property
    def languages(self) -> list[str]:
        """The languages that its manifest or its card names; none where neither does, or it is for many."""
        return languages_of(self.path) if self.manifest is None else self.manifest.languages

    @property
    def family(self) -> str:
        """The checksum of the weights in whatever precision: that of the model of transformers they come from."""
        return (self.manifest.source if self.manifest else "") or self.checksum()

    def settings(self, shape: type[Shape], found: Mapping[str, Any], advice: str = _EXPORT) -> Shape:
        """The settings that only models of this kind have, checked."""
        return read_as(shape, found, f"{self.path / MANIFEST}: settings", advice)

    def checksum(self) -> str:
        """32 hex digits that name what shapes the model's results: its weights, its tokenizer and their settings."""
        if self.manifest is not None:
            shaping = {"kind", "dimension", "max_tokens", "pooling", "settings", "files"}
            about = self.manifest.model_dump(include=shaping)
            return hashlib.sha256(orjson.dumps(about, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
        files = (path.name for path in self.path.iterdir())
        names = sorted(name for name in files if name.endswith(_WEIGHTS) or name in _SHAPING)
        names += ["1_Pooling/config.json"] if (self.path / "1_Pooling" / "config.json").is_file() else []
        parts = [f"{name} {file_hash(self.path / name)}\n" for name in names]
        return hashlib.sha256("".join(parts).encode()).hexdigest()[:32]


def open_folder(name: str, path: Path) -> ModelFolder:
    """The model in a folder, with every file that its manifest names verified."""
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; wanted a folder that holds a model.")
    if (path / MANIFEST).is_file():
        return ModelFolder(name, path, _verified(path))
    if not (path / "config.json").is_file():
        raise InputError(
            f"{path}: this folder holds no model; wanted {MANIFEST} (made by convqa models export) "
            "or config.json (made by transformers)."
        )
    if not any(file.name.endswith(_WEIGHTS) for file in path.iterdir()):
        raise InputError(f"{path}: config.json is there, the weights (*.safetensors) are not: copy the model again.")
    return ModelFolder(name, path, None)


def read_manifest(path: Path) -> Manifest:
    """The manifest ``convqa.json`` of a folder, its files unread."""
    file = path / MANIFEST
    found = read_json(file, "the manifest of a model")
    version = found.get("format") if isinstance(found, dict) else None
    if version != 1:
        raise InputError(f"{file}: found format {version!r}, wanted 1: the model is of another version of convqa.")
    return read_as(Manifest, found, str(file), _EXPORT)


def write_folder(target: Path, about: Mapping[str, Any], files: Mapping[str, Path | bytes]) -> None:
    """Write a model's folder, whole or not at all.

    :param about: the manifest's fields, without ``format`` and ``files``.
    :param files: name in the folder -> a file to copy, or its content.
    """
    check_target(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as aside:
            made = Path(aside) / "model"
            made.mkdir()
            for name, source in files.items():
                if isinstance(source, bytes):
                    (made / name).write_bytes(source)
                else:
                    shutil.copyfile(source, made / name)
            hashes = {name: file_hash(made / name) for name in sorted(files) if name != CARD}
            manifest = Manifest(format=1, files=hashes, **about)
            (made / MANIFEST).write_bytes(orjson.dumps(manifest.model_dump(), option=orjson.OPT_INDENT_2) + b"\n")
            if target.is_dir():
                target.rmdir()  # an empty one, which not every system lets a folder be moved onto
            made.rename(target)
    except OSError as error:
        raise unwritable(str(target), error) from error


def check_target(target: Path) -> None:
    """Refuse to write over anything, before any work is done."""
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{target}: is there already; name a folder that is not there yet.")


def licence_of(folder: Path) -> str:
    """The licence that a model's card names in its head; "" where it names none."""
    found = re.search(r"^license:\s*(\S+)", _head(folder), re.M)
    return found[1] if found else ""


def languages_of(folder: Path) -> list[str]:
    """The languages that a model's card names in its head, by their two letters; none for one such as multilingual."""
    found = re.search(r"^language:(.*(?:\n *- .*)*)", _head(folder), re.M)
    names = [name.partition("-")[0].lower() for name in re.findall(r"\w[\w-]*", found[1])] if found else []
    return names if all(len(name) == len("en") for name in names) else []


def _head(folder: Path) -> str:
    """The beginning of a model's card."""
    try:
        return (folder / CARD).read_text(encoding="utf-8", errors="replace")[:5000]
    except OSError:
        return ""


def file_hash(path: Path) -> str:
    """SHA-256 of a file in hex, kept for the process as long as the file's time and size stay."""
    try:
        state = path.stat()
        return _hash(path.resolve(), state.st_mtime_ns, state.st_size)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file: the model is not whole. Copy or make it again.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from None


@cache
def _hash(path: Path, time: int, size: int) -> str:  # noqa: ARG001 - they tell two versions of a file apart
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _verified(path: Path) -> Manifest:
    manifest = read_manifest(path)
    weights = [name for name in manifest.files if name == ONNX or name.endswith(_WEIGHTS)]
    if manifest.kind not in (SUPPORT, CONDITIONS) and (not weights or TOKENIZER not in manifest.files):
        missing = TOKENIZER if weights else ONNX
        raise InputError(f"{path / MANIFEST}: names no checksum of {missing}: this is no whole model.")
    for name, wanted in manifest.files.items():
        if Path(name).name != name:
            raise InputError(f"{path / MANIFEST}: names the file {name!r}, which is not of this folder.")
        if file_hash(path / name) != wanted:
            raise InputError(
                f"{path / name}: its checksum is not the one in {MANIFEST}: the file is damaged or was replaced. "
                "Copy or make the model again."
            )
    return manifest
