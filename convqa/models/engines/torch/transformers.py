"""Read a folder of transformers: configuration, weights, tokenizer and, from sentence-transformers' files, pooling."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from convqa.errors import InputError, reason_of
from convqa.files import read_json
from convqa.models.engines.torch.runtime import import_torch
from convqa.models.folder import TOKENIZER, ModelFolder
from convqa.models.types import Role, Tokenizer, load_tokenizer
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
_VOCABULARIES = ("vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
# Models whose positions begin after the padding token, so that there are two fewer than configured.
_SHIFTED_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}
_ROLES: dict[Role, tuple[str, ...]] = {
    "query": ("query",),
    "passage": ("passage", "document", "corpus"),
}


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


def load_config(folder: ModelFolder) -> Any:
    """Return transformers' configuration of the model in a folder."""
    return _load(folder, "AutoConfig", "config.json")


def _load(folder: ModelFolder, auto: str, subject: str, **options: Any) -> Any:
    """Load a part of a folder with a class of transformers."""
    import_torch()
    import transformers

    try:
        loader = getattr(transformers, auto)
        return loader.from_pretrained(
            folder.path,
            local_files_only=True,
            trust_remote_code=False,
            **options,
        )
    except Exception as error:  # the libraries raise anything on damaged files
        raise InputError(f"{folder.path}: {subject} cannot be loaded ({reason_of(error)}). {_ADVICE}") from error


def load_module(
    folder: ModelFolder,
    auto: str,
    device: str,
    precision: str,
) -> Any:
    """Load a model of transformers, ready to run.

    :param auto: the class of transformers that loads it, such as ``AutoModel``.
    """
    dtype = getattr(import_torch(), precision)
    module, info = _load(
        folder,
        auto,
        "the model",
        output_loading_info=True,
        dtype=dtype,
    )
    # BERT's class adds a pooler over the first token, which only a classifier uses.
    missing = sorted(name for name in info["missing_keys"] if auto != "AutoModel" or "pooler" not in name)
    if missing or info["mismatched_keys"]:
        about = f"lack {len(missing)} tensors, such as {missing[0]}" if missing else "have other shapes"
        raise InputError(
            f"{folder.path}: the weights {about}; expected those of {type(module).__name__}. The model is damaged or "
            "of another architecture."
        )
    return module.to(device).eval()


def load_writer(
    folder: ModelFolder,
    device: str,
    precision: str,
) -> tuple[Any, Any]:
    """Load a causal or sequence-to-sequence language model and its tokenizer, both of transformers."""
    is_encoder_decoder = load_config(folder).is_encoder_decoder
    auto = "AutoModelForSeq2SeqLM" if is_encoder_decoder else "AutoModelForCausalLM"
    model = load_module(folder, auto, device, precision)
    return model, _auto_tokenizer(folder)


def tokenizer_of(folder: ModelFolder, most: int) -> Tokenizer:
    """Load the tokenizer in a folder of transformers; one without ``tokenizer.json`` is converted.

    :param most: maximum tokens of a sequence.
    """
    if (folder.path / TOKENIZER).is_file():
        return load_tokenizer(folder.path, most)
    return Tokenizer(_auto_tokenizer(folder).backend_tokenizer, most)


def _auto_tokenizer(folder: ModelFolder) -> Any:
    # Without a vocabulary, transformers makes an empty tokenizer.
    if not any((folder.path / name).is_file() for name in (TOKENIZER, *_VOCABULARIES)):
        raise InputError(f"{folder.path}: the model has no tokenizer; expected {TOKENIZER}. {_ADVICE}")
    return _load(folder, "AutoTokenizer", "the tokenizer")


def max_tokens(path: Path, config: Any) -> int:
    """Return the maximum tokens of a sequence: the smallest limit in the model's files, else 512."""
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


def pooling_of(path: Path) -> Pooling:
    """Return the pooling of an encoder, the mean for a plain model."""
    file = path / "modules.json"
    if not file.is_file():
        return "mean"
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
