"""The recipe ``reader``: from questions with their contexts to a model that the station loads, on a tiny real trunk."""

from __future__ import annotations

import json

import pytest

from convqa.models.kinds.reader_input import ReaderInput
from convqa.training.config import load

pytestmark = pytest.mark.models

PEOPLE = ["goethe", "schiller", "kafka", "zappa", "curie", "darwin"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """SQuAD-format JSON: contexts, each with a question that it answers, and some with one that it does not."""
    folder = tmp_path_factory.mktemp("reading")
    paragraphs = []
    for number in range(60):
        name = PEOPLE[number % 6]
        context = f"the answer is about {name} and the first passage"
        answers = [{"text": name, "answer_start": context.index(name)}]
        qas = [{"id": f"{number}a", "question": "who is the answer about?", "answers": answers, "is_impossible": False}]
        if number % 5 == 0:
            qas.append({"id": f"{number}b", "question": "when did he die?", "answers": [], "is_impossible": True})
        paragraphs.append({"context": context, "qas": qas})
    for name, part in (("train", paragraphs[:56]), ("validation", paragraphs[56:])):
        (folder / f"{name}.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": part}]}))
    return folder


def test_a_reader_learns_and_is_exported(tiny_encoder, data, tmp_path):
    from convqa.models import load_reader
    from convqa.training.loop import Bench
    from convqa.training.train import train

    settings = load("reader", None, {"base": tiny_encoder, "epochs": 8, "batch": 4, "rate": 1e-2})
    model, scores = train(settings, Bench(tmp_path / "made", data))
    assert scores["validation"]["F1"] == 100.0
    question, text = "who is the answer about?", "the answer is about zappa and the first passage"
    [reading] = load_reader(str(model)).read([(question, text)], 1)
    assert text[reading.spans[0].start : reading.spans[0].end] == "zappa"
    card = (model / "README.md").read_text()
    assert "convqa train reader" in card and "- validation: questions 4" in card


@pytest.fixture(scope="module")
def reading(tiny_encoder):
    from tokenizers import Tokenizer

    return ReaderInput(Tokenizer.from_file(f"{tiny_encoder}/tokenizer.json"), 24)


def rows(reading, question, text, seed=1):
    from convqa.training.reader import labeled_windows

    return list(labeled_windows(reading, [(question, text)], seed))


def test_targets_are_the_tokens_of_every_answer(reading):
    from convqa.tasks.mrqa.formats import Question

    text = "zappa, kafka"
    [row] = rows(reading, Question("q", "who", ("kafka", "zappa", "zappa, kafka"), ((7, 12), (0, 5), (0, 12))), text)
    # [CLS] who [SEP] zappa [UNK] kafka [SEP]
    assert row.spans == [(5, 5), (3, 3), (3, 5)]
    assert len(row.ids) == 7 and row.types.index(1) == 3


def test_a_question_without_an_answer_points_at_the_first_token(reading):
    from convqa.tasks.mrqa.formats import Question

    [row] = rows(reading, Question("q", "who"), "zappa")
    assert row.spans == [(0, 0)]


def test_of_a_long_text_a_window_with_the_answer_trains_and_sometimes_one_without(reading):
    from convqa.tasks.mrqa.formats import Question

    text = "the " * 60 + "kafka " + "the " * 60
    found = [rows(reading, Question("q", "who", ("kafka",), ((240, 245),)), text, seed) for seed in range(20)]
    kafka = found[0][0].ids[found[0][0].spans[0][0]]
    for made in found:
        first, last = made[0].spans[0]
        assert first == last and made[0].ids[first] == kafka
        assert [row.spans for row in made[1:]] in ([], [[(0, 0)]])
        assert all(kafka not in row.ids for row in made[1:])
    assert {len(made) for made in found} == {1, 2}


def test_an_answer_that_no_window_holds_whole_teaches_nothing(reading):
    from convqa.tasks.mrqa.formats import Question

    text = "the " * 60
    assert rows(reading, Question("q", "who", (text,), ((0, len(text)),)), text) == []
