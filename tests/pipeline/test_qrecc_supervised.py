"""The pipeline ``qrecc-supervised`` with tiny models of the architectures that it names."""

from __future__ import annotations

import pytest

from convqa.domain import Exchange, Passage, Turn, TurnId, Turns
from convqa.pipeline.load import load
from convqa.stores import create_store

PASSAGES = (
    Passage("goethe", "Goethe wrote Faust. He was born in Frankfurt in 1749."),
    Passage("faust", "Faust is a play in two parts. 👍🏽 The first one appeared in 1808."),
)
QUESTIONS = ("Who wrote Faust?", "When was he born?", "Zeppelin?", "")


@pytest.fixture
def collection(tmp_path):
    url = str(tmp_path / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
        store.commit()
    return url


@pytest.mark.models
def test_it_runs_with_models_that_are_named(collection, tiny_generator, tiny_reader):
    settings = {
        "rewriter.model": tiny_generator("t5"), "rewriter.max_new_tokens": 8, "reader.model": str(tiny_reader("Bert")),
    }  # fmt: skip
    pipeline = load("qrecc-supervised", settings)
    pipeline.bind(collection)
    pipeline.warm_up()
    turns = [
        Turn(TurnId(1, place), question, tuple(Exchange(said, "Goethe.") for said in QUESTIONS[:place]))
        for place, question in enumerate(QUESTIONS)
    ]
    made = pipeline.run(Turns(tuple(turns)))
    texts = {passage.id: passage.text for passage in PASSAGES}
    assert [answer.kind for answer in made.answers] == ["answer", "answer", "none", "none"]
    for answer, reading in zip(made.answers, made.readings, strict=True):
        assert all(texts[span.passage_id][span.start : span.end] == span.text for span in reading.spans)
        assert answer.text == (" ".join(reading.spans[0].text.split()) if reading.spans else "")
