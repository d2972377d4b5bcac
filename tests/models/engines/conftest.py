"""Tiny models of transformers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "wrote", "faust", "goethe", "it", "is", "a", "play", "and",
    "again", "query", ":", "passage", "?",
]  # fmt: skip


@pytest.fixture(scope="session")
def words() -> list[str]:
    """The vocabulary of the tiny models."""
    return WORDS


@pytest.fixture(scope="session")
def save_tokenizer() -> Callable[[list[str], Path], None]:
    """``save_tokenizer(words, folder)`` writes a tokenizer with this vocabulary."""
    transformers = pytest.importorskip("transformers")
    import tokenizers

    def save(words, folder):
        ids = {word: number for number, word in enumerate(words)}
        plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="[UNK]"))
        plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        plain.post_processor = tokenizers.processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
        names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
        made = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=24, **names)
        made.save_pretrained(folder)

    return save


@pytest.fixture(scope="session")
def make_bert(
    tmp_path_factory: pytest.TempPathFactory, save_tokenizer: Callable[[list[str], Path], None]
) -> Callable[..., Path]:
    """``make_bert("BertModel", num_labels=2)`` -> a new folder with a model of that class, of random weights."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    def made(model, seed=5, **settings):
        folder = tmp_path_factory.mktemp(model)
        transformers.set_seed(seed)
        config = transformers.BertConfig(
            vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=32, initializer_range=0.5, **settings,
        )  # fmt: skip
        getattr(transformers, model)(config).save_pretrained(folder)
        save_tokenizer(WORDS, folder)
        return folder

    return made
