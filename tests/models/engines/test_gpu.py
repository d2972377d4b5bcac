"""The models that ship on a GPU (CUDA), beside the same on the CPU; skipped where torch sees none."""

from __future__ import annotations

import pytest

import convqa
from convqa.components.encoding import named
from convqa.models import Options, load_encoder, load_resolver
from convqa.models.check import sample_passages
from convqa.models.kinds.resolver_input import Past
from tests.cli.conftest import EXAMPLE

pytestmark = [pytest.mark.models, pytest.mark.gpu]

GPU = Options("cuda")


@pytest.fixture(autouse=True)
def gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_vectors_of_a_gpu_are_near_those_of_the_cpu(precision):
    ours, other = load_encoder("encoder"), load_encoder("encoder", Options("cuda", precision))
    texts = sample_passages()
    assert str(other.runs) == f"torch {precision} on cuda" and named(ours) == named(other)
    assert (ours.encode(texts) * other.encode(texts)).sum(axis=1).min() > 0.985


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_vector_does_not_depend_on_its_batch_mates(size):
    encoder, texts = load_encoder("encoder", GPU), [text for text in sample_passages() for _ in range(2)]
    whole = encoder.encode(texts)
    for start in range(0, len(texts), size):
        assert abs(encoder.encode(texts[start : start + size]) - whole[start : start + size]).max() < 1e-4


def test_the_resolver_says_on_a_gpu_what_it_says_on_the_cpu():
    turns = [("When did he write it?", [Past("Who was Goethe?", "Goethe wrote Faust.")])]
    texts = [load_resolver("resolver", options).resolve(turns)[0].text() for options in (Options(), GPU)]
    assert texts[0] == texts[1]


def test_a_whole_pipeline_runs_on_a_gpu():
    talk = convqa.load("talk", EXAMPLE / "passages.jsonl.gz", options={"device": "cuda"})
    assert all("on cuda" in identity for models in talk.pipeline.models.values() for identity in models.values()
               if "torch" in identity)  # fmt: skip
    assert "torch float32 on cuda" in str(talk.pipeline.models["retriever"])
    assert talk.conversation().ask("Who wrote the US constitution?").error is None
