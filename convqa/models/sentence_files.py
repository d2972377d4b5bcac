"""Read the files that sentence-transformers and others put beside a model: pooling, length and prompts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from convqa.errors import InputError
from convqa.files import read_json
from convqa.validation import Record, read_as

Pooling = Literal["mean", "cls"]

_POOLING: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "mean": "mean",
    "cls": "cls",
}
_ADVICE = "Copy the model again."
_MODULES = {"Transformer", "Pooling", "Normalize"}
# Models whose positions begin after the padding token, so that there are two fewer than configured.
_SHIFTED_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}
Role = Literal["query", "passage"]
"""The kinds of texts that an encoder distinguishes."""

_ROLES: dict[Role, tuple[str, ...]] = {
    "query": ("query",),
    "passage": ("passage", "document", "corpus"),
}


class Published(NamedTuple):
    """What the authors of a family of encoders say about its use, which the models' files often lack."""

    query: str
    passage: str = ""
    pooling: Pooling = "mean"


_SEARCH = "Represent this sentence for searching relevant passages: "
_PUBLISHED = {
    "e5": Published("query: ", "passage: "),
    "nomic": Published("search_query: ", "search_document: "),
    **dict.fromkeys(("arctic", "bge", "mxbai"), Published(_SEARCH, pooling="cls")),
}
_OTHERS = {"m3", "zh"}
"""Words in the names of members that are used in another way."""


def published(name: str) -> Published | None:
    """Return what is published about the encoder of this name, None if its family is not known.

    >>> published("intfloat/e5-small-v2").passage, published("./all-MiniLM-L6-v2")
    ('passage: ', None)
    """
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    return None if words & _OTHERS else next((use for word, use in _PUBLISHED.items() if word in words), None)


class SentenceModule(Record):
    """A step of sentence-transformers' modules.json."""

    type: str = ""
    path: str = ""


class FolderFields(Record, extra="allow"):
    """Fields of sentence-transformers' files and of tokenizer_config.json; each file has some of them.

    Older versions have a flag per pooling mode, newer ones name the mode.
    """

    max_seq_length: Annotated[int, Field(ge=1)] | None = None
    # Tokenizers without a limit have a number too large for an integer of JSON parsers.
    model_max_length: Annotated[float, Field(gt=0)] | None = None
    modules: list[SentenceModule] = []
    pooling_mode: str | None = None
    include_prompt: bool = True
    prompts: dict[str, str | None] | None = None


def max_tokens(path: Path, config: Any = None) -> int:
    """Return the maximum tokens of a sequence: the smallest limit in the model's files, else 512.

    :param config: that of transformers, if it has been read.
    """
    limits = [
        _read(path / "sentence_bert_config.json").max_seq_length,
        _read(path / "tokenizer_config.json").model_max_length,
        positions(config),
    ]
    return int(min((limit for limit in limits if limit and limit < 1_000_000), default=512))


def positions(config: Any) -> int | None:
    """Return how many tokens the model has positions for, None without a limit."""
    count = getattr(config, "max_position_embeddings", None)
    return count - 2 if count and config.model_type in _SHIFTED_POSITIONS else count


def pooling_of(path: Path) -> Pooling | None:
    """Return the pooling in the files of sentence-transformers, None without them."""
    file = path / "modules.json"
    if not file.is_file():
        return None
    listed = {"modules": read_json(file, "sentence-transformers' list of modules")}
    modules = read_as(FolderFields, listed, str(file), _ADVICE).modules
    folders = {module.type.rsplit(".", 1)[-1]: module.path for module in modules}
    unknown = sorted(set(folders) - _MODULES)
    if unknown or "Pooling" not in folders:
        raise InputError(
            f"{file}: expected Transformer, Pooling and Normalize, got {', '.join(unknown) or 'no Pooling'}."
        )
    file = path / folders["Pooling"] / "config.json"
    fields = _read(file)
    modes = [fields.pooling_mode] if fields.pooling_mode else []
    if not modes:
        flags = fields.model_extra or {}
        modes = [name for name, value in flags.items() if name.startswith("pooling_mode") and value]
    if len(modes) != 1 or modes[0] not in _POOLING:
        raise InputError(f"{file}: expected the pooling mean or cls, got {', '.join(modes) or 'none'}.")
    if not fields.include_prompt:
        raise InputError(f"{file}: include_prompt: expected true, got false; convqa always pools the prompt too.")
    return _POOLING[modes[0]]


def prefixes_of(path: Path) -> dict[Role, str]:
    """Return the prefixes that an encoder needs before texts, by role."""
    prompts = _read(path / "config_sentence_transformers.json").prompts or {}
    prefixes: dict[Role, str] = {}
    for role, names in _ROLES.items():
        for prefix in filter(None, map(prompts.get, names)):
            prefixes.setdefault(role, prefix)
    return prefixes


def _read(file: Path) -> FolderFields:
    """Return the fields of a file, all unset if the file is missing."""
    if not file.is_file():
        return FolderFields()
    return read_as(
        FolderFields,
        read_json(file, "settings of a model"),
        str(file),
        _ADVICE,
    )
