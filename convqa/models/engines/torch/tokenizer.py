"""The tokenizer of a model of transformers, checked against the model."""

from __future__ import annotations

from typing import Any

from convqa.errors import InputError, reason_of
from convqa.models.folder import TOKENIZER, ModelFolder
from convqa.models.tokens import Tokenizer, load_tokenizer

_VOCABULARIES = ("vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")


def tokenizer_of(folder: ModelFolder, config: Any, max_tokens: int) -> Tokenizer:
    """The tokenizer in a folder of transformers; old ones without ``tokenizer.json`` are converted.

    :raises InputError: if it is missing, damaged, or made for another model.
    """
    found = load_tokenizer(folder.path, max_tokens) if (folder.path / TOKENIZER).is_file() else _old(folder, max_tokens)
    size = max(found.inner.get_vocab().values(), default=-1) + 1
    if size > config.vocab_size:
        raise InputError(
            f"{folder.path}: the tokenizer knows {size} tokens, the model {config.vocab_size}: they are not of one "
            "model. Copy the model again."
        )
    return found


def _old(folder: ModelFolder, max_tokens: int) -> Tokenizer:
    import transformers

    if not any((folder.path / name).is_file() for name in _VOCABULARIES):
        # transformers would make a tokenizer that knows no word.
        raise InputError(f"{folder.path}: the model has no tokenizer; wanted {TOKENIZER}. Copy the model again.")
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
        return Tokenizer(loaded.backend_tokenizer, max_tokens)
    except Exception as error:  # whatever the libraries raise on missing and damaged files
        raise InputError(
            f"{folder.path}: the tokenizer cannot be loaded ({reason_of(error)}). Copy the model again."
        ) from error
