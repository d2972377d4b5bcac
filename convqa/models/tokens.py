"""Convert texts to token ids with a model's own tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from convqa.errors import InputError
from convqa.files import replace_surrogates
from convqa.models.folder import TOKENIZER

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Tokenizer_


@dataclass(frozen=True, slots=True)
class Tokens:
    """An input sequence. ``types``: 0 for the first text of a pair, 1 for the second."""

    ids: list[int]
    types: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """A tokenizer that truncates to ``max_tokens`` (with special tokens), in a pair the longer text, and never pads."""

    def __init__(self, inner: Tokenizer_, max_tokens: int) -> None:
        self.inner = inner
        self.max_tokens = max_tokens
        inner.no_padding()
        inner.enable_truncation(max_tokens)

    def texts(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text; lone surrogates count as U+FFFD."""
        return [
            Tokens(item.ids, item.type_ids) for item in self.inner.encode_batch_fast(replace_surrogates(list(texts)))
        ]

    def longer(self, texts: Sequence[str]) -> int:
        """Count the texts that are truncated."""
        # No token is shorter than a byte.
        candidates = [text for text in replace_surrogates(list(texts)) if len(text.encode()) >= self.max_tokens - 2]
        return sum(1 for item in self.inner.encode_batch_fast(candidates) if item.overflowing)

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Return the tokens of each pair of texts, as one sequence."""
        mended = [tuple(replace_surrogates(list(pair))) for pair in pairs]
        return [Tokens(item.ids, item.type_ids) for item in self.inner.encode_batch_fast(mended)]


def load_tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """Load the tokenizer of a model's folder."""
    from tokenizers import Tokenizer as Tokenizer_

    file = folder / TOKENIZER
    if not file.is_file():
        raise InputError(f"{file}: no such file; the model has no tokenizer. Copy or make it again.")
    try:
        inner = Tokenizer_.from_file(str(file))
    except Exception as error:  # the library raises plain Exceptions
        raise InputError(f"{file}: is not a tokenizer ({error}). Copy or make the model again.") from error
    return Tokenizer(inner, max_tokens)
