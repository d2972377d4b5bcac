"""Read a folder of transformers: configuration, weights and tokenizer."""

from __future__ import annotations

from typing import Any

from convqa.errors import InputError, reason_of
from convqa.models.engines.torch.runtime import import_torch
from convqa.models.folder import TOKENIZER, ModelFolder
from convqa.models.types import Tokenizer, load_tokenizer

_ADVICE = "Copy the model again."
_VOCABULARIES = ("vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")


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
