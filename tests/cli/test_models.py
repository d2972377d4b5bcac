"""``convqa models`` as a user calls it."""

from __future__ import annotations

import json
import shutil

import pytest

from convqa.models.source import SHIPPED


def test_list_names_what_ships(call):
    code, out, _ = call("models", "list")
    assert code == 0 and "encoder     encoder     int8" in out and "Apache-2.0" in out
    assert "conditions  conditions  float32" in out


def test_check_loads_and_measures(call):
    code, out, _ = call("models", "check", "encoder")
    found = {line[:16].strip(): line[16:] for line in out.splitlines()}
    assert code == 0 and (found["kind"], found["dimension"], found["runs"]) == ("encoder", "384", "onnx int8 on cpu")
    assert found["speed"].endswith("texts/s (32 texts)")


def test_a_bad_model_is_exit_code_2(call, tmp_path):
    folder = shutil.copytree(SHIPPED / "encoder", tmp_path / "copied")
    (folder / "model.onnx").write_bytes(b"damaged")
    code, _, error = call("models", "check", folder)
    assert code == 2 and "model.onnx" in error and "damaged" in error
    code, _, error = call("models", "check", "encodr")
    assert code == 2 and "Did you mean 'encoder'?" in error


def test_check_runs_a_resolver_and_refuses_a_bad_one(call, tmp_path):
    code, out, _ = call("models", "check", "resolver")
    assert code == 0 and "texts/s (32 texts)" in out
    folder = shutil.copytree(SHIPPED / "resolver", tmp_path / "copied")
    manifest = json.loads((folder / "convqa.json").read_text())
    (folder / "convqa.json").write_text(json.dumps({**manifest, "settings": {}}))
    code, _, error = call("models", "check", folder)
    assert code == 2 and "settings: patterns: " in error


def test_a_download_needs_permission(process, tmp_path):
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    started = process("models", "check", "owner/name", **nowhere)
    assert "owner/name" in started.communicate()[1] and started.returncode == 2
    started = process("models", "check", "owner/name", "--allow-download", **nowhere)
    assert "cannot be downloaded" in started.communicate()[1] and started.returncode == 2


@pytest.mark.models
def test_export_then_quantize(call, tmp_path):
    """A tiny encoder from torch to int8, every step by its command."""
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
    code, out, error = call("models", "export", tmp_path / "torch", tmp_path / "onnx")
    assert code == 0 and "convqa models quantize" in out, error
    code, out, error = call("models", "quantize", tmp_path / "onnx", tmp_path / "int8")
    assert code == 0 and "int8" in out, error
    assert call("models", "check", tmp_path / "int8")[0] == 0
    code, _, error = call("models", "quantize", tmp_path / "onnx", tmp_path / "int8")
    assert code == 2 and "already exists" in error
