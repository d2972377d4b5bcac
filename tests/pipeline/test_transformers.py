"""The pipeline ``transformers``: tiny models of the architectures that it names, each in its place."""

from __future__ import annotations

import json

import pytest

import convqa
from convqa.errors import InputError
from convqa.pipeline.load import load

PASSAGES = [
    {"id": "goethe", "title": "Goethe", "text": "Goethe wrote Faust. He was born in Frankfurt in 1749."},
    {"id": "faust", "title": "Faust", "text": "Faust is a play in two parts. The first one appeared in 1808."},
]


@pytest.fixture
def collection(tmp_path):
    (tmp_path / "passages.jsonl").write_text("\n".join(map(json.dumps, PASSAGES)))
    convqa.index(tmp_path / "passages.jsonl", tmp_path / "collection")
    return str(tmp_path / "collection")


@pytest.mark.parametrize(("name", "model"), [("transformers", ""), ("qrecc-supervised", "castorini/t5-base-canard ")])
def test_a_pipeline_loads_without_its_models_and_names_a_missing_one(name, model, collection):
    pytest.importorskip("huggingface_hub")
    pipeline = load(name)
    pipeline.bind(collection)
    with pytest.raises(InputError, match=rf"{model}is not on this machine.*hf download"):
        pipeline.warm_up()


@pytest.fixture(scope="module")
def encoder(cross_encoder, tmp_path_factory):
    """The trunk of a tiny BERT, as an encoder of its own."""
    import transformers

    folder = tmp_path_factory.mktemp("encoder")
    transformers.AutoModel.from_pretrained(cross_encoder).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(cross_encoder).save_pretrained(folder)
    return str(folder)


@pytest.mark.models
def test_it_runs_with_models_that_are_named(collection, encoder, cross_encoder, tiny_generator, tiny_reader):
    settings = {
        "rewriter.model": tiny_generator("llama"), "rewriter.max_new_tokens": 8,
        "retriever.encoder": encoder, "reranker.model": str(cross_encoder), "reader.model": str(tiny_reader("Roberta")),
    }  # fmt: skip
    talk = convqa.load("transformers", collection, settings, options={"device": "cpu", "precision": "float32"})
    assert all("torch float32 on cpu" in str(identity) for identity in talk.pipeline.models.values())
    assert set(talk.pipeline.models) == {"rewriter", "retriever", "reranker", "reader"}
    conversation = talk.conversation()
    for question in ("Who wrote Faust?", "When was he born?"):
        response = conversation.ask(question)
        assert response.error is None and response.answer.kind == "answer"
        cited = response.answer.sentences[0].citations[0].passage_id
        passage = next(one["text"] for one in PASSAGES if one["id"] == cited)
        assert " ".join(response.answer.text.split()) in " ".join(passage.split())
