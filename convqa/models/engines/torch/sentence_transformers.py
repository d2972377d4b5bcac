"""What a folder says about how it makes vectors: sentence-transformers' files, or nothing but a plain model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from convqa.errors import InputError
from convqa.files import read_json
from convqa.models.folder import ModelFolder
from convqa.models.kinds.encoder import Role
from convqa.validation import Shape, read_as

Pooling = Literal["mean", "cls"]

_POOLING: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_ADVICE = "Copy the model again."
_KNOWN = {"Transformer", "Pooling", "Normalize"}
# Models whose positions begin after the padding's number, and which have two fewer than their configuration says.
_OFFSET = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}
_ROLES: dict[Role, tuple[str, ...]] = {"query": ("query",), "passage": ("passage", "document", "corpus")}


class _File(BaseModel):
    model_config = ConfigDict(strict=True)


class _Length(_File):
    max_seq_length: Annotated[int, Field(ge=1)] | None = None


class _TokenizersLength(_File):
    # Tokenizers without a limit say so with a very large number, larger than JSON's readers have integers for.
    model_max_length: Annotated[float, Field(gt=0)] | None = None


class _Module(_File):
    type: str = ""
    path: str = ""


class _Modules(_File):
    modules: list[_Module]


class _PoolingModes(_File):
    """Newer versions write one name, or several, instead of flags."""

    model_config = ConfigDict(extra="allow")

    pooling_mode: str | list[str] | None = None
    include_prompt: bool = True


class _Prompts(_File):
    prompts: dict[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a text becomes a vector: prefix, at most ``max_tokens`` tokens, pooling, length 1."""

    pooling: Pooling
    max_tokens: int
    prefixes: dict[Role, str] = field(default_factory=dict)


def recipe(folder: ModelFolder, config: Any) -> Recipe:
    """How the model in this folder makes vectors; a plain model is pooled by the mean.

    :param config: transformers' configuration of the model.
    :raises InputError: if the folder asks for a step that convqa does not know.
    """
    return Recipe(_pooling(folder.path), max_tokens(folder.path, config), _prefixes(folder.path))


def max_tokens(path: Path, config: Any) -> int:
    """How many tokens the model takes: the least of what its files say."""
    limits: list[float | None] = [_read(path / "sentence_bert_config.json", _Length).max_seq_length]
    limits.append(_read(path / "tokenizer_config.json", _TokenizersLength).model_max_length)
    limits.append(places(config))
    return int(min([limit for limit in limits if limit and limit < 1_000_000] or [512]))


def places(config: Any) -> int | None:
    """How many tokens the model has positions for; None where they are not counted."""
    found = getattr(config, "max_position_embeddings", None)
    return found - 2 if found and config.model_type in _OFFSET else found


def _pooling(path: Path) -> Pooling:
    file = path / "modules.json"
    if not file.is_file():
        return "mean"
    found = read_json(file, "sentence-transformers' list of modules")
    modules = read_as(_Modules, {"modules": found}, str(file), _ADVICE).modules
    kinds = {module.type.rsplit(".", 1)[-1]: module.path for module in modules}
    unknown = sorted(set(kinds) - _KNOWN)
    if unknown or "Pooling" not in kinds:
        raise InputError(
            f"{file}: asks for {', '.join(unknown) or 'no pooling'}; convqa runs a Transformer, Pooling and Normalize."
        )
    place = path / kinds["Pooling"] / "config.json"
    said = _read(place, _PoolingModes)
    flags = [name for name, value in (said.model_extra or {}).items() if name.startswith("pooling_mode") and value]
    modes = [said.pooling_mode] if isinstance(said.pooling_mode, str) else said.pooling_mode or flags
    known: dict[str, Pooling] = {**_POOLING, "mean": "mean", "cls": "cls"}
    if len(modes) != 1 or modes[0] not in known:
        raise InputError(f"{place}: asks for the pooling {', '.join(modes) or 'none'}; convqa knows mean and cls.")
    if not said.include_prompt:
        raise InputError(f"{place}: leaves the prompt out of the pooling (include_prompt), which convqa does not do.")
    return known[modes[0]]


def _prefixes(path: Path) -> dict[Role, str]:
    prompts = _read(path / "config_sentence_transformers.json", _Prompts).prompts or {}
    found: dict[Role, str] = {}
    for role, names in _ROLES.items():
        text = next((prompts[name] for name in names if prompts.get(name)), None)
        if text:
            found[role] = text
    return found


def _read(file: Path, shape: type[Shape]) -> Shape:
    """What one of the files says; a file that is not there says nothing."""
    if not file.is_file():
        return shape()
    found = read_json(file, "settings of a model")
    if not isinstance(found, dict):
        raise InputError(f"{file}: wanted a JSON object. {_ADVICE}")
    return read_as(shape, found, str(file), _ADVICE)
