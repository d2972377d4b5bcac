"""Texts to token numbers, by a model's own tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from convqa.errors import InputError
from convqa.files import replace_surrogates
from convqa.models.folder import TOKENIZER

if TYPE_CHECKING:
    from tokenizers import Encoding
    from tokenizers import Tokenizer as Tokenizer_


@dataclass(frozen=True, slots=True)
class Tokens:
    """One sequence as a model takes it. ``types``: 0 for the first text of a pair, 1 for the second."""

    ids: list[int]
    types: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """A tokenizer that cuts at ``max_tokens`` (special tokens counted) and never pads.

    Of a pair, the longer text is cut.
    """

    def __init__(self, inner: Tokenizer_, max_tokens: int) -> None:
        self.inner = inner
        self.max_tokens = max_tokens
        inner.no_padding()
        inner.enable_truncation(max_tokens)

    def texts(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text; half characters (lone surrogates) count as U+FFFD."""
        return [_tokens(item) for item in self.inner.encode_batch_fast(replace_surrogates(list(texts)))]

    def longer(self, texts: Sequence[str]) -> int:
        """How many texts have more tokens than ``max_tokens``, so that they are cut."""
        # No token is shorter than a byte.
        some = [text for text in replace_surrogates(list(texts)) if len(text.encode()) >= self.max_tokens - 2]
        return sum(1 for item in self.inner.encode_batch_fast(some) if item.overflowing)

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """The tokens of each pair of texts, as one sequence."""
        clean = [tuple(replace_surrogates(list(pair))) for pair in pairs]
        return [_tokens(item) for item in self.inner.encode_batch_fast(clean)]


def load_tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """The tokenizer of a model's folder."""
    from tokenizers import Tokenizer as Tokenizer_

    file = folder / TOKENIZER
    if not file.is_file():
        raise InputError(f"{file}: no such file: the model has no tokenizer. Copy or make it again.")
    try:
        inner = Tokenizer_.from_file(str(file))
    except Exception as error:  # the library raises Exception itself
        raise InputError(f"{file}: this is no tokenizer ({error}). Copy or make the model again.") from error
    return Tokenizer(inner, max_tokens)


def _tokens(encoding: Encoding) -> Tokens:
    return Tokens(encoding.ids, encoding.type_ids)
