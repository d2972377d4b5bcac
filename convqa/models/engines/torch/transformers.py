"""Reading of a folder of transformers: its configuration, weights and tokenizer, and how it makes vectors.

sentence-transformers' files say how vectors are made; without them a plain model is pooled by the mean.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from convqa.errors import InputError, reason_of
from convqa.files import read_json
from convqa.models.engines.torch.runtime import import_torch
from convqa.models.folder import TOKENIZER, ModelFolder
from convqa.models.tokens import Tokenizer, load_tokenizer
from convqa.models.types import Role
from convqa.validation import Record, read_as

Pooling = Literal["mean", "cls"]

_POOLING: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "mean": "mean", "cls": "cls",
}  # fmt: skip
_ADVICE = "Copy the model again."
_MODULES = {"Transformer", "Pooling", "Normalize"}
_VOCABULARIES = ("vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
# Models whose positions begin after the padding's number, and which have two fewer than their configuration says.
_OFFSET = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}
_ROLES: dict[Role, tuple[str, ...]] = {"query": ("query",), "passage": ("passage", "document", "corpus")}


class _Module(Record):
    """A step of sentence-transformers' modules.json."""

    type: str = ""
    path: str = ""


class _Settings(Record, extra="allow"):
    """The fields that are read of sentence-transformers' files and of tokenizer_config.json; a file has some of them.

    Older versions have a flag for each mode of pooling, newer ones name it.
    """

    max_seq_length: Annotated[int, Field(ge=1)] | None = None
    # Tokenizers without a limit say so with a very large number, larger than JSON's readers have integers for.
    model_max_length: Annotated[float, Field(gt=0)] | None = None
    modules: list[_Module] = []
    pooling_mode: str | list[str] | None = None
    include_prompt: bool = True
    prompts: dict[str, str | None] | None = None


def load_config(folder: ModelFolder) -> Any:
    """transformers' configuration of the model in a folder."""
    import_torch()
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever the libraries raise on damaged files
        raise _unloadable(folder, "config.json", error) from error


def load_module(folder: ModelFolder, auto: str, device: str, precision: str) -> Any:
    """A model of transformers, ready to run.

    :param auto: the class of transformers that loads it, such as ``AutoModel``.
    """
    torch = import_torch()
    import transformers

    try:
        module, info = getattr(transformers, auto).from_pretrained(
            folder.path, local_files_only=True, trust_remote_code=False, output_loading_info=True,
            dtype=getattr(torch, precision),
        )  # fmt: skip
    except Exception as error:  # whatever the libraries raise on damaged files
        raise _unloadable(folder, "the model", error) from error
    # BERT's class makes a pooler over the first token, which a bare model has no use for; a classifier stands on it.
    unused = "pooler" if auto == "AutoModel" else None
    missing = sorted(name for name in info["missing_keys"] if unused is None or unused not in name)
    if missing or info["mismatched_keys"]:
        if missing:
            about = f"lack {len(missing)} tensors, such as {missing[0]}, of what {type(module).__name__} needs"
        else:
            about = f"have other shapes than {type(module).__name__} needs"
        raise InputError(f"{folder.path}: the weights {about}: the model is damaged or of another architecture.")
    return module.to(device).eval()


def load_writer(folder: ModelFolder, device: str, precision: str) -> tuple[Any, Any]:
    """A causal or sequence-to-sequence language model with its tokenizer, both of transformers."""
    config = load_config(folder)
    import transformers

    seq2seq = bool(config.is_encoder_decoder)
    known: Any = (
        transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING if seq2seq else transformers.MODEL_FOR_CAUSAL_LM_MAPPING
    )
    heads = config.architectures or []
    if type(config) not in known or getattr(known[type(config)], "__name__", "") not in heads:
        raise InputError(
            f"{folder.path}: {', '.join(heads) or config.model_type} writes no texts; wanted a causal or a "
            "sequence-to-sequence language model."
        )
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder.path, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # whatever the libraries raise on missing and damaged files
        if not (folder.path / TOKENIZER).is_file() and find_spec("sentencepiece") is None:
            raise InputError(
                f"{folder.path}: has no {TOKENIZER}; to make one of its older files, install the package sentencepiece."
            ) from error
        raise _unloadable(folder, "the tokenizer", error) from error
    auto = "AutoModelForSeq2SeqLM" if seq2seq else "AutoModelForCausalLM"
    model = load_module(folder, auto, device, precision)
    # Where its files are missing, transformers makes a tokenizer that knows next to nothing.
    files = ("tokenizer", "vocab", "spiece", "sentencepiece")
    if not tokenizer("Who?")["input_ids"] or not any(file.name.startswith(files) for file in folder.path.iterdir()):
        raise InputError(f"{folder.path}: the tokenizer is missing. {_ADVICE}")
    size = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > size:
        raise _foreign(folder, len(tokenizer), size)
    return model, tokenizer


def tokenizer_of(folder: ModelFolder, config: Any, most: int | None = None) -> Tokenizer:
    """The tokenizer in a folder of transformers; old ones without ``tokenizer.json`` are converted.

    :param most: tokens of a sequence; None = as many as the model takes.
    """
    most = most or max_tokens(folder.path, config)
    found = load_tokenizer(folder.path, most) if (folder.path / TOKENIZER).is_file() else _old_tokenizer(folder, most)
    size = max(found.inner.get_vocab().values(), default=-1) + 1
    if size > config.vocab_size:
        raise _foreign(folder, size, config.vocab_size)
    return found


def _old_tokenizer(folder: ModelFolder, most: int) -> Tokenizer:
    import transformers

    if not any((folder.path / name).is_file() for name in _VOCABULARIES):
        # transformers would make a tokenizer that knows no word.
        raise InputError(f"{folder.path}: the model has no tokenizer; wanted {TOKENIZER}. {_ADVICE}")
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
        return Tokenizer(loaded.backend_tokenizer, most)
    except Exception as error:  # whatever the libraries raise on missing and damaged files
        raise _unloadable(folder, "the tokenizer", error) from error


def max_tokens(path: Path, config: Any) -> int:
    """How many tokens the model takes: the least of what its files say."""
    limits: list[float | None] = [
        _read(path / "sentence_bert_config.json").max_seq_length,
        _read(path / "tokenizer_config.json").model_max_length,
        positions(config),
    ]
    return int(min([limit for limit in limits if limit and limit < 1_000_000] or [512]))


def positions(config: Any) -> int | None:
    """How many tokens the model has positions for; None where they are not counted."""
    found = getattr(config, "max_position_embeddings", None)
    return found - 2 if found and config.model_type in _OFFSET else found


def pooling_of(path: Path) -> Pooling:
    """How an encoder makes one vector of many; a plain model takes the mean."""
    file, paths = path / "modules.json", modules_of(path)
    if not file.is_file():
        return "mean"
    unknown = sorted(set(paths) - _MODULES)
    if unknown or "Pooling" not in paths:
        raise InputError(
            f"{file}: asks for {', '.join(unknown) or 'no pooling'}; convqa runs a Transformer, Pooling and Normalize."
        )
    file = path / paths["Pooling"] / "config.json"
    settings = _read(file)
    flags = [name for name, value in (settings.model_extra or {}).items() if name.startswith("pooling_mode") and value]
    named = settings.pooling_mode
    modes = [named] if isinstance(named, str) else named or flags
    if len(modes) != 1 or modes[0] not in _POOLING:
        raise InputError(f"{file}: asks for the pooling {', '.join(modes) or 'none'}; convqa knows mean and cls.")
    if not settings.include_prompt:
        raise InputError(f"{file}: leaves the prompt out of the pooling (include_prompt), which convqa does not do.")
    return _POOLING[modes[0]]


def modules_of(path: Path) -> dict[str, str]:
    """The types of sentence-transformers' modules, with their folders; empty for a plain model."""
    file = path / "modules.json"
    if not file.is_file():
        return {}
    listed = {"modules": read_json(file, "sentence-transformers' list of modules")}
    modules = read_as(_Settings, listed, str(file), _ADVICE).modules
    return {module.type.rsplit(".", 1)[-1]: module.path for module in modules}


def prefixes_of(path: Path) -> dict[Role, str]:
    """The prefixes that an encoder wants before a text, by its kind."""
    prompts = _read(path / "config_sentence_transformers.json").prompts or {}
    named = {role: next((prompts[name] for name in names if prompts.get(name)), None) for role, names in _ROLES.items()}
    return {role: text for role, text in named.items() if text}


def _read(file: Path) -> _Settings:
    """The fields of one of the files; none of a file that is not there."""
    if not file.is_file():
        return _Settings()
    return read_as(_Settings, read_json(file, "settings of a model"), str(file), _ADVICE)


def _unloadable(folder: ModelFolder, what: str, error: Exception) -> InputError:
    return InputError(f"{folder.path}: {what} cannot be loaded ({reason_of(error)}). {_ADVICE}")


def _foreign(folder: ModelFolder, tokens: int, known: int) -> InputError:
    return InputError(
        f"{folder.path}: the tokenizer knows {tokens} tokens, the model {known}: they are not of one model. {_ADVICE}"
    )
