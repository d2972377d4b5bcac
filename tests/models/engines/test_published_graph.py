"""Graphs of encoders as others publish them: a graph, a tokenizer, and little else."""

from __future__ import annotations

import json
import shutil
import warnings

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import load_encoder, load_reader

pytestmark = pytest.mark.models

TEXTS = ["goethe wrote faust", "faust"]


@pytest.fixture(scope="module")
def bert(make_bert):
    return make_bert("BertModel")


@pytest.fixture(scope="module")
def published(bert, tmp_path_factory):
    """The graph of BERT's last states, and its tokenizer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from convqa.models.engines.torch.networks import Module

    class States(Module):
        def result(self, output, mask):
            return output.last_hidden_state

    folder = tmp_path_factory.mktemp("published")
    model = States(transformers.AutoModel.from_pretrained(bert)).eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tuple(torch.ones((1, 5), dtype=torch.long) for _ in names)
    axes = {0: "texts", 1: "tokens"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the older exporter
        torch.onnx.export(
            model, example, str(folder / "model.onnx"), input_names=names, output_names=["last_hidden_state"],
            dynamic_axes=dict.fromkeys([*names, "last_hidden_state"], axes), opset_version=17, dynamo=False,
        )  # fmt: skip
    shutil.copy(bert / "tokenizer.json", folder)
    return folder


def copied(published, tmp_path, name="model.onnx", tokenizer="tokenizer.json"):
    folder = tmp_path / "copied"
    (folder / name).parent.mkdir(parents=True)
    shutil.copy(published / "model.onnx", folder / name)
    shutil.copy(published / "tokenizer.json", folder / tokenizer)
    return folder


@pytest.mark.parametrize(
    ("name", "tokenizer"),
    [
        ("model.onnx", "tokenizer.json"),
        ("onnx/model.onnx", "tokenizer.json"),
        ("a-model-q.onnx", "a-model-q-tokenizer.json"),
    ],
)
def test_its_vectors_are_those_of_the_model(bert, published, tmp_path, name, tokenizer):
    there = load_encoder(str(copied(published, tmp_path, name, tokenizer)))
    assert (there.dimension, str(there.runs)) == (16, "onnx float32 on cpu")
    assert np.allclose(there.encode(TEXTS), load_encoder(str(bert)).encode(TEXTS), atol=1e-5)


def test_its_length_is_that_of_its_tokenizers_settings(published, tmp_path):
    folder = copied(published, tmp_path)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 24}))
    assert load_encoder(str(folder)).max_tokens == 24


def test_its_pooling_is_its_familys_or_asked_for(published, tmp_path):
    folder = copied(published, tmp_path)
    bge = folder.rename(tmp_path / "bge-tiny")
    by_family = load_encoder(f"{bge}?query=").encode(TEXTS)
    assert np.allclose(by_family, load_encoder(f"{published}?pooling=cls").encode(TEXTS))
    assert not np.allclose(by_family, load_encoder(str(published)).encode(TEXTS), atol=1e-3)


@pytest.mark.parametrize(
    ("removed", "says"), [("tokenizer.json", "model.onnx without tokenizer.json"), ("model.onnx", "has no")]
)
def test_what_is_missing_is_named(published, tmp_path, removed, says):
    folder = copied(published, tmp_path)
    (folder / removed).unlink()
    with pytest.raises(InputError, match=says):
        load_encoder(str(folder))


def test_it_is_an_encoder_only(published):
    with pytest.raises(InputError, match="expected a model of kind 'reader', got kind 'encoder'"):
        load_reader(str(published))


def test_a_graph_of_another_model_is_refused(published, tmp_path):
    """As of a cross-encoder or SPLADE, whose output is logits."""
    onnx = pytest.importorskip("onnx")
    folder = copied(published, tmp_path)
    graph = onnx.load(folder / "model.onnx")
    for node in graph.graph.node:
        node.output[:] = ["logits" if name == "last_hidden_state" else name for name in node.output]
    graph.graph.output[0].name = "logits"
    onnx.save(graph, folder / "model.onnx")
    with pytest.raises(InputError, match=r"-> logits\. A sparse model or a cross-encoder is no encoder"):
        load_encoder(str(folder))


def test_a_bad_quantization_is_warned_of(bert, tmp_path, caplog, monkeypatch):
    from convqa.models import export

    monkeypatch.setattr(export, "LEAST_COSINE", 1.5)
    export.export(str(bert), tmp_path / "int8", "int8")
    assert "int8 changes the vectors of this encoder much" in caplog.text


def test_the_query_prompt_in_a_models_files_makes_no_vectors_foreign(make_bert):
    folder = make_bert("BertModel")
    plain = load_encoder(str(folder)).family
    prompts = folder / "config_sentence_transformers.json"
    prompts.write_text('{"prompts": {"query": ""}}')
    without = load_encoder(str(folder)).family
    families = set()
    for query in ("faust", "goethe"):
        prompts.write_text(json.dumps({"prompts": {"query": query}}))
        families.add(load_encoder(str(folder)).family)
    prompts.write_text(json.dumps({"prompts": {"query": "goethe", "passage": "faust"}}))
    assert len(families) == 1 and load_encoder(str(folder)).family not in {*families, plain, without}
