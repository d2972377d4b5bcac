"""Token weights of tiny masked language models, made here."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import load_encoder

TEXTS = ["who wrote faust ?", "goethe", "goethe wrote faust again and again and again .", ""]


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


def test_other_models_are_refused(cross_encoder):
    with pytest.raises(InputError, match="expected those of BertForMaskedLM"):
        load_encoder(str(cross_encoder), sparse=True)
    with pytest.raises(InputError, match="encoder"):
        load_encoder("encoder", sparse=True)


def test_it_is_no_dense_encoder(sparse_encoder):
    assert load_encoder(str(sparse_encoder), sparse=True).sparse
    assert not load_encoder("encoder").sparse
