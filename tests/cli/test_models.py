"""``convqa models`` as a user calls it."""

from __future__ import annotations

import shutil

import pytest

from convqa.models.source import SHIPPED
from tests.cli.conftest import EXAMPLE

PASSAGES = EXAMPLE / "passages.jsonl.gz"


def test_list_names_what_ships(call):
    code, out, _ = call("models", "list")
    assert code == 0 and "encoder        encoder        int8" in out and "Apache-2.0" in out
    assert "conditions     conditions     float32" in out


def test_get_installs_an_encoder_that_index_then_uses(call, tmp_path, encoder_of_german):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fluss.txt").write_text("Die Donau mündet ins Schwarze Meer.", encoding="utf-8")
    index = ("index", tmp_path / "docs", "--collection", tmp_path / "c", "--language", "de")
    code, out, error = call(*index)
    assert code == 0 and "vectors" not in out and error.count("\n") == 1
    assert "ranked by words alone. convqa models get multilingual FOLDER adds an encoder" in error
    code, out, error = call("models", "get", "multilingual", encoder_of_german)
    assert code == 0 and out.endswith("models/multilingual: 23.4 MB\n"), error
    assert "multilingual   encoder        int8" in call("models", "list")[1]
    code, out, error = call(*index)
    assert code == 0 and "1 vector of multilingual" in out and not error
    code, out, error = call("ask", "Wohin fließt die Donau?", "--collection", tmp_path / "c")
    assert code == 0 and "Schwarze Meer" in out and not error


def test_a_bad_model_is_exit_code_2(call, tmp_path):
    folder = shutil.copytree(SHIPPED / "encoder", tmp_path / "copied")
    (folder / "model.onnx").write_bytes(b"damaged")
    code, _, error = call("index", PASSAGES, "--collection", tmp_path / "c", "--vectors", folder)
    assert code == 2 and "model.onnx" in error and "damaged" in error
    code, _, error = call("index", PASSAGES, "--collection", tmp_path / "c", "--vectors", "encodr")
    assert code == 2 and "Did you mean 'encoder'?" in error


def test_a_download_needs_permission(process, tmp_path):
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    asked = ("index", PASSAGES, "--collection", tmp_path / "c", "--vectors", "owner/name")
    started = process(*asked, **nowhere)
    assert "owner/name" in started.communicate()[1] and started.returncode == 2
    started = process(*asked, "--allow-download", **nowhere)
    assert "cannot be downloaded" in started.communicate()[1] and started.returncode == 2


@pytest.mark.models
def test_export(call, tmp_path):
    """A tiny encoder from torch to int8."""
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    names = ["[PAD]", "[UNK]", "the", "a", "physician", "assistant", "is", "and", "of"]
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: n for n, w in enumerate(names)}, unk_token="[UNK]"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]")
    made.save_pretrained(tmp_path / "torch")
    config = transformers.BertConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(tmp_path / "torch")
    code, out, error = call("models", "export", tmp_path / "torch", tmp_path / "int8", "--precision", "int8")
    assert code == 0 and "int8: 0.0 MB" in out, error
    code, _, error = call("models", "export", tmp_path / "torch", tmp_path / "int8")
    assert code == 2 and "already exists" in error
