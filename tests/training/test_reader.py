"""The recipe ``reader``: from questions with their contexts to a model that the station loads, on a tiny real trunk."""

from __future__ import annotations

import json

import pytest

from convqa.models.kinds.reader_input import ReaderInput
from convqa.training.config import load
from convqa.training.train import Bench, train

pytestmark = pytest.mark.models

PEOPLE = ["goethe", "schiller", "kafka", "zappa", "curie", "darwin"]


class Cut(Exception):
    pass


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """SQuAD-format JSON: sixty contexts, each with a question that it answers, and some with one that it does not."""
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
    (folder / "train.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
    return folder


@pytest.fixture
def settings(tiny_encoder):
    def made(**changes):
        quick = {"base": tiny_encoder, "epochs": 8, "batch": 4, "rate": 1e-2, "checkpoint": 1e-9}
        return load("reader", None, {**quick, **changes})

    return made


def test_a_reader_learns_goes_on_where_it_was_cut_and_is_exported_twice(settings, data, tmp_path):
    import torch

    from convqa.models import load_reader
    from convqa.training import reader

    def cut(done, total, loss):
        if done == 5:
            raise Cut

    wanted = settings()
    (tmp_path / "whole").mkdir()
    reader.ReaderTraining(wanted, Bench(tmp_path / "whole", data)).fit()
    with pytest.raises(Cut):
        train(wanted, Bench(tmp_path / "cut", data, progress=cut))
    model, scores = train(wanted, Bench(tmp_path / "cut", data))
    for name, value in _weights(tmp_path / "whole").items():
        torch.testing.assert_close(_weights(tmp_path / "cut")[name], value, atol=1e-5, rtol=0)
    assert scores["validation"]["F1"] == 100.0
    assert scores["validation float32"]["F1"] == 100.0
    asked = [("who is the answer about?", "the answer is about zappa and the first passage")]
    small, whole = (load_reader(str(folder)).read(asked, 1)[0] for folder in (model, model.with_name("model-torch")))
    assert asked[0][1][small.spans[0].start : small.spans[0].end] == "zappa"
    assert small.spans[0][:2] == whole.spans[0][:2]
    assert small.margin == pytest.approx(whole.margin, abs=0.5)
    card = (model / "README.md").read_text()
    assert "convqa train reader" in card and "- validation: questions 2" in card


def _weights(folder):
    import torch

    return torch.load(folder / "checkpoint.pt", weights_only=True)["model"]


@pytest.fixture(scope="module")
def reading(tiny_encoder):
    from tokenizers import Tokenizer

    return ReaderInput(Tokenizer.from_file(f"{tiny_encoder}/tokenizer.json"), 24)


def rows(reading, question, text, seed=1):
    from convqa.training.reader import labeled_windows

    return list(labeled_windows(reading, iter([(question, text)]), seed))


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


def test_probabilities_fit_what_was_right():
    pytest.importorskip("torch")
    from convqa.training.reader import curve

    slope, offset = curve([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0] * 2000, [1, 0, 0, 0, 1, 1, 1, 0] * 2000)
    assert offset == pytest.approx(-1.0986, abs=2e-3)  # ln(1/3)
    assert slope == pytest.approx(1.0986, abs=2e-3)
