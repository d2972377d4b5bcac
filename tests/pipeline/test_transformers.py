"""The pipeline ``transformers``: tiny models of the architectures that it names, each in its place."""

from __future__ import annotations

import json
import logging

import pytest

import convqa
from convqa.components.deciders.logistic import Logistic
from convqa.components.readers.sentences import SentencesReader
from convqa.errors import InputError
from convqa.models import load_encoder
from convqa.pipeline.load import load
from convqa.places import shipped

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
        "rewriter.model": tiny_generator("llama"), "rewriter.format": "auto", "rewriter.max_new_tokens": 8,
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


@pytest.mark.models
def test_what_was_fitted_to_the_shipped_encoder_falls_back_to_words_with_one_warning(collection, encoder, caplog):
    settings = {"reader.encoder": encoder, "decider.encoder": encoder, "retriever.encoder": encoder}
    with caplog.at_level(logging.WARNING):
        one = convqa.load("talk", collection, settings)
        answers = [one.conversation().ask(question).answer for question in ("Who wrote Faust?", "Who wrote Faust?")]
    told = [record.getMessage() for record in caplog.records]
    assert sum("reader sentences was fitted to cosines of the shipped encoder" in said for said in told) == 1
    assert sum("'sentences', which looks at words alone, decides" in said for said in told) == 1
    by_words = {"retriever.encoder": encoder, "reader.encoder": None, "decider.encoder": None}
    other = convqa.load("talk", collection, {**by_words, "decider.decision": "sentences"})
    assert other.conversation().ask("Who wrote Faust?").answer == answers[0] == answers[1]
    assert "reader" not in one.pipeline.models


@pytest.mark.models
def test_a_decision_that_was_fitted_to_another_encoder_takes_its_cosines(encoder, tmp_path, caplog):
    text = shipped("configs", "decisions", "talk.yaml").read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(f"{text}encoder: {load_encoder(encoder).family}\n")
    for name, models in ((encoder, {"encoder"}), ("encoder", set())):
        decider = Logistic(decision=str(tmp_path / "own.yaml"), encoder=name)
        decider.warm_up()
        assert set(decider.models()) == models
    assert len(caplog.records) == 1


@pytest.mark.models
def test_the_shipped_encoder_in_another_precision_is_what_they_were_fitted_to(caplog):
    options = {"device": "cpu", "precision": "float32"}
    for station in (
        SentencesReader(encoder="encoder", options=options),
        Logistic(decision="talk", encoder="encoder", options=options),
    ):
        station.warm_up()
        assert "float32" in str(station.models()["encoder"].runs)
    assert not caplog.records
