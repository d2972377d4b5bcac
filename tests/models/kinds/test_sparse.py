"""Token weights of tiny masked language models, made here."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import load_encoder

TEXTS = ["who wrote faust ?", "goethe", "goethe wrote faust again and again and again .", ""]


@pytest.fixture
def with_table(sparse_encoder, tmp_path):
    """A model whose folder has a table of query weights, of that name and content."""

    def made(name, content):
        folder = shutil.copytree(sparse_encoder, tmp_path / name.partition(".")[0])
        (folder / name).write_text(content, encoding="utf-8")
        return str(folder)

    return made


def test_a_token_weighs_the_largest_of_its_logits(sparse_encoder):
    import torch
    import transformers

    model = load_encoder(str(sparse_encoder), sparse=True)
    made = model.encode(TEXTS)
    assert made.shape == (4, 12)
    assert made.dtype == np.float32
    assert (made >= 0).all()
    assert (made > 0).any()
    network = transformers.BertForMaskedLM.from_pretrained(sparse_encoder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(sparse_encoder)
    for text, weights in zip(TEXTS, made, strict=True):
        with torch.inference_mode():
            logits = network(**tokens(text, return_tensors="pt")).logits[0]
        expected = torch.log1p(torch.relu(logits)).amax(0).numpy()
        assert weights == pytest.approx(expected, abs=2e-2 if "bfloat16" in model.identity else 1e-4)
    assert np.array_equal(model.encode(TEXTS, "query"), made)


def test_padding_has_no_weights(sparse_encoder):
    model = load_encoder(str(sparse_encoder), sparse=True)
    for text, weights in zip(TEXTS, model.encode(TEXTS), strict=True):
        assert model.encode([text])[0] == pytest.approx(weights, abs=1e-4)


def test_a_table_weighs_queries_without_the_network(with_table, sparse_encoder):
    folder = with_table("idf.json", json.dumps({"goethe": 2.5, "wrote": 0.5, "unheard": 9.0, "[CLS]": 3.0}))
    model = load_encoder(folder, sparse=True)
    asked = model.encode(["Goethe wrote and wrote", "and"], "query")
    assert np.argwhere(asked).tolist() == [[0, 5], [0, 10]]
    assert asked[0, [5, 10]].tolist() == [2.5, 0.5]
    plain = load_encoder(str(sparse_encoder), sparse=True)
    assert np.array_equal(model.encode(TEXTS), plain.encode(TEXTS))
    assert model.checksum != plain.checksum


@pytest.mark.parametrize("content", ["[1]", "no JSON", '{"goethe": "much"}', '{"goethe": -1}', '{"goethe": 1e999}'])
def test_a_damaged_table_is_refused(with_table, content):
    with pytest.raises(InputError, match=r"idf\.json: expected tokens"):
        load_encoder(with_table("idf.json", content), sparse=True)


def test_other_models_are_refused(cross_encoder):
    with pytest.raises(InputError, match="expected those of BertForMaskedLM"):
        load_encoder(str(cross_encoder), sparse=True)
    with pytest.raises(InputError, match="encoder"):
        load_encoder("encoder", sparse=True)


def test_it_is_no_dense_encoder(sparse_encoder):
    assert load_encoder(str(sparse_encoder), sparse=True).sparse
    assert not load_encoder("encoder").sparse
