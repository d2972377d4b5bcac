"""Models of transformers on a GPU (CUDA), beside the same on the CPU; skipped where torch sees none."""

from __future__ import annotations

import pytest

from convqa.models import Options, load_encoder

pytestmark = [pytest.mark.models, pytest.mark.gpu]


@pytest.fixture(autouse=True)
def gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.05)])
def test_vectors_of_a_gpu_are_near_those_of_the_cpu(make_bert, words, precision, tolerance):
    folder = str(make_bert("BertModel"))
    ours, other = load_encoder(folder, Options("cpu", "float32")), load_encoder(folder, Options("cuda", precision))
    texts = [" ".join(words[5 : 6 + place % 13]) for place in range(64)]
    assert str(other.runs) == f"torch {precision} on cuda" and ours.family == other.family
    assert abs(ours.encode(texts) - other.encode(texts)).max() < tolerance


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_vector_does_not_depend_on_its_batch_mates(make_bert, words, size):
    encoder = load_encoder(str(make_bert("BertModel")), Options("cuda"))
    texts = [" ".join(words[5 : 6 + place % 13]) for place in range(64)]
    whole = encoder.encode(texts)
    for start in range(0, len(texts), size):
        assert abs(encoder.encode(texts[start : start + size]) - whole[start : start + size]).max() < 1e-4
