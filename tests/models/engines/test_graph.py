"""Models that were exported, run by torch: the same weights in another precision, and one family with their source."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import convqa
from convqa.components.encoding import has_vectors_of, named
from convqa.errors import InputError
from convqa.indexing import add_vectors
from convqa.models import Options, load_encoder, load_pair_scorer, load_reader, load_resolver
from convqa.models.check import sample_passages
from convqa.models.kinds.resolver_input import Past
from convqa.models.source import SHIPPED
from convqa.models.types import Choice
from convqa.stores import open_store

pytestmark = pytest.mark.models

FLOAT, HALF = Options("cpu", "float32"), Options("cpu", "bfloat16")
TURNS = [
    ("When did he write it?", [Past("Who was Goethe?", "Goethe was a poet.")]),
    ("Is it good?", [Past("Tell me about pizza in Italy.", "Pizza is from Naples."), Past("Why?", "")]),
]


@pytest.fixture(scope="module", autouse=True)
def packages():
    for name in ("torch", "transformers", "onnx"):
        pytest.importorskip(name)


@pytest.fixture(scope="module")
def passages():
    return [text[:300] for text in sample_passages()[:12]]


@pytest.mark.parametrize("options", [FLOAT, HALF])
def test_the_shipped_encoder_makes_near_vectors_on_torch(passages, options):
    ours, other = load_encoder("encoder"), load_encoder("encoder", options)
    assert str(other.runs) == f"torch {options.precision} on cpu" and other.dimension == 384
    assert named(ours) == named(other) and ours.identity != other.identity
    assert (ours.encode(passages) * other.encode(passages)).sum(axis=1).min() > 0.985


def test_float32_and_bfloat16_of_a_graph_are_nearer_still(passages):
    some = passages[:8]
    cosines = (load_encoder("encoder", FLOAT).encode(some) * load_encoder("encoder", HALF).encode(some)).sum(axis=1)
    assert 0.999 < cosines.min() < 0.9999999


def test_torch_refuses_the_shipped_reader_which_has_more_heads():
    with pytest.raises(InputError, match="only ONNX Runtime can run it"):
        load_reader("reader", FLOAT)


@pytest.mark.parametrize("budget", [10, 2048])
def test_the_shipped_resolver_resolves_alike_on_torch(monkeypatch, budget):
    monkeypatch.setattr("convqa.models.engines.torch.runtime.MAX_BATCH_TOKENS", {"cpu": budget})
    for one, two in zip(
        load_resolver("resolver").resolve(TURNS), load_resolver("resolver", FLOAT).resolve(TURNS), strict=True
    ):
        assert one.text() == two.text()
        for (word, chance), (same, other) in zip(one.terms, two.terms, strict=True):
            assert word == same and other == pytest.approx(chance, abs=0.2)


def test_loading_a_graph_leaves_chance_alone():
    import torch

    torch.manual_seed(3)
    wanted = torch.rand(1)
    torch.manual_seed(3)
    load_resolver("resolver", FLOAT)
    assert torch.equal(torch.rand(1), wanted)


@pytest.fixture(scope="module")
def family(make_bert, tmp_path_factory):
    """The same tiny encoder as transformers has it, as a float32 graph and as an int8 one; and a scorer of pairs."""
    from convqa.models.export import export, quantize

    folder = tmp_path_factory.mktemp("family")
    for name, model in (("encoder", "BertModel"), ("pairs", "BertForSequenceClassification")):
        source = make_bert(model, num_labels=1)
        export(str(source), folder / f"{name}-float32")
        quantize(str(folder / f"{name}-float32"), folder / f"{name}-int8")
        shutil.copytree(source, folder / name)
    return folder


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_a_graph_on_torch_gives_what_its_source_gives(family, kind, monkeypatch):
    # On a CPU, torch runs a float32 graph only here.
    monkeypatch.setattr("convqa.models.engines.choose", lambda *_: Choice("torch", "cpu", "float32"))
    texts = ["who wrote faust ?", "goethe wrote a play and again a play"]
    one = load_encoder(str(family / "encoder"), FLOAT)
    two = load_encoder(str(family / f"encoder-{kind}"), FLOAT)
    assert str(two.runs) == "torch float32 on cpu"
    assert np.allclose(one.encode(texts), two.encode(texts), atol=1e-5 if kind == "float32" else 0.05)
    pairs = [("who wrote faust ?", "goethe wrote faust"), ("who", "a play")]
    scorers = [load_pair_scorer(str(family / name), FLOAT)
               for name in ("pairs", f"pairs-{kind}")]  # fmt: skip
    scores = [scorer.score(pairs) for scorer in scorers]
    assert np.allclose(*scores, atol=1e-4 if kind == "float32" else 0.3)


def test_what_was_exported_is_one_family_with_its_source_and_with_nothing_else(family, make_bert, tmp_path):
    one = load_encoder(str(family / "encoder"))
    graphs = [load_encoder(str(family / f"encoder-{kind}")) for kind in ("float32", "int8")]
    assert {named(graph) for graph in graphs} == {named(one)} and len({graph.checksum for graph in (one, *graphs)}) == 3
    assert named(load_encoder(str(make_bert("BertModel", seed=6)))) != named(one)

    (tmp_path / "p.jsonl").write_text('{"id": "1", "text": "goethe wrote faust"}\n{"id": "2", "text": "a play"}\n')
    convqa.index(tmp_path / "p.jsonl", tmp_path / "c")
    assert add_vectors(str(tmp_path / "c"), one).encoder == named(graphs[1])
    assert has_vectors_of(graphs[1], open_store(str(tmp_path / "c")))
    with pytest.raises(InputError, match=r"expected its encoder .*, got "):
        add_vectors(str(tmp_path / "c"), load_encoder(str(make_bert("BertModel", seed=6))))


def test_a_graph_without_its_configuration_or_of_another_network_is_refused(tmp_path):
    for changes, message in (
        ({"config": {}}, "was exported without the network's configuration"),
        ({"kind": "reader", "dimension": None}, "expected a model of kind 'encoder', got kind 'reader'"),
        ({"config": {"model_type": "distilbert"}}, "torch cannot run this graph"),
    ):
        folder = shutil.copytree(SHIPPED / "encoder", tmp_path / str(len(list(tmp_path.iterdir()))))
        file = folder / "convqa.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
        with pytest.raises(InputError, match=message):
            load_encoder(str(folder), FLOAT)
