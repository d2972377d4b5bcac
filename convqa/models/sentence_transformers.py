"""What a folder says about how it makes vectors: sentence-transformers' files, or nothing but a plain model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from convqa.errors import InputError
from convqa.files import read_json
from convqa.models.folder import ModelFolder

Pooling = Literal["mean", "cls"]

_POOLING: dict[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_KNOWN = {"Transformer", "Pooling", "Normalize"}
# Models whose positions begin after the padding's number, and which have two fewer than their configuration says.
_OFFSET = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}
_ROLES = {"query": ("query",), "passage": ("passage", "document", "corpus")}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a text becomes a vector: prefix, at most ``max_tokens`` tokens, pooling, length 1."""

    pooling: Pooling
    max_tokens: int
    prefixes: dict[str, str] = field(default_factory=dict)


def recipe(folder: ModelFolder, config: Any) -> Recipe:
    """How the model in this folder makes vectors; a plain model is pooled by the mean.

    :param config: transformers' configuration of the model.
    :raises InputError: if the folder asks for a step that convqa does not know.
    """
    return Recipe(_pooling(folder.path), max_tokens(folder.path, config), _prefixes(folder.path))


def max_tokens(path: Path, config: Any) -> int:
    """How many tokens the model takes: the least of what its files say."""
    limits = [_object(path / "sentence_bert_config.json").get("max_seq_length")]
    limits.append(_object(path / "tokenizer_config.json").get("model_max_length"))
    places = getattr(config, "max_position_embeddings", None)
    if places:
        limits.append(places - 2 if config.model_type in _OFFSET else places)
    # Tokenizers without a limit say so with a very large number.
    return int(min([limit for limit in limits if limit and limit < 1_000_000] or [512]))


def _pooling(path: Path) -> Pooling:
    file = path / "modules.json"
    if not file.is_file():
        return "mean"
    modules = read_json(file, "sentence-transformers' list of modules")
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise InputError(f"{file}: wanted a list of modules.")
    kinds = {str(module.get("type", "")).rsplit(".", 1)[-1]: str(module.get("path", "")) for module in modules}
    unknown = sorted(set(kinds) - _KNOWN)
    if unknown or "Pooling" not in kinds:
        raise InputError(
            f"{file}: asks for {', '.join(unknown) or 'no pooling'}; convqa runs a Transformer, Pooling and Normalize."
        )
    place = path / kinds["Pooling"] / "config.json"
    found = _object(place)
    # Newer versions write one name instead of flags.
    named = found.get("pooling_mode")
    modes = [named] if named else [name for name, value in found.items() if name.startswith("pooling_mode") and value]
    known: dict[str, Pooling] = {**_POOLING, "mean": "mean", "cls": "cls"}
    if len(modes) != 1 or modes[0] not in known:
        raise InputError(f"{place}: asks for the pooling {', '.join(modes) or 'none'}; convqa knows mean and cls.")
    if found.get("include_prompt") is False:
        raise InputError(f"{place}: leaves the prompt out of the pooling (include_prompt), which convqa does not do.")
    return known[modes[0]]


def _prefixes(path: Path) -> dict[str, str]:
    prompts = _object(path / "config_sentence_transformers.json").get("prompts") or {}
    found = {}
    for role, names in _ROLES.items():
        text = next((prompts[name] for name in names if prompts.get(name)), "")
        if text:
            found[role] = str(text)
    return found


def _object(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    found = read_json(file, "settings of a model")
    if not isinstance(found, dict):
        raise InputError(f"{file}: wanted a JSON object.")
    return found
