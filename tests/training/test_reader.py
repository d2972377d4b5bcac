"""The recipe ``reader``: from questions with passages to a model that the station loads, on a tiny real trunk."""

from __future__ import annotations

import json
import shutil

import pytest

from convqa.training.config import load
from convqa.training.examples import ReadingExample, ReadPassage
from tests.conftest import tiny_bert

pytestmark = pytest.mark.models

PEOPLE = ["goethe", "schiller", "kafka", "zappa", "curie", "darwin"]
MARKS = [f"[unused{number}]" for number in range(1, 6)]
WORDS = ["who", "what", "is", "did", "he", "it", "die", "the", "answer", "about", "first", "passage", ".", "?"]


@pytest.fixture(scope="session")
def trunk(tmp_path_factory):
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("tiny-trunk")
    return str(tiny_bert(folder, "BertModel", [*MARKS, *WORDS, *PEOPLE], 128))


def example(number, answerable=True):
    name = PEOPLE[number % 6]
    right = {"title": "answer", "units": ["the first passage.", f"the answer is about {name}."], "answers": [1]}
    other = {"title": "", "units": ["the passage is about it.", "he did die."], "answers": []}
    return {
        "question": "who is the answer about?",
        "history": [{"question": "what is it?", "answer": "the passage"}] if number % 2 else [],
        "passages": [right, other] if answerable else [other],
        "answer": name if answerable else "",
        "has_spans": True,
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reading")
    for part, numbers in (("train", range(60)), ("validation", range(60, 72))):
        lines = [json.dumps(example(number, number % 5 != 0)) + "\n" for number in numbers]
        (folder / f"{part}.jsonl").write_text("".join(lines))
    return folder


def test_a_reader_learns_and_is_exported(trunk, data, tmp_path):
    from convqa.models.kinds.unit_reader import AskedQuestion, UnitPassage, load_unit_reader
    from convqa.training.loop import Bench
    from convqa.training.train import train

    settings = load("reader", None, {"base": trunk, "epochs": 8, "batch": 4, "rate": 1e-2})
    model, scores = train(settings, Bench(tmp_path / "made", data))
    assert scores["validation"] == {"turns": 12, "first unit": 1.0, "AUC": 1.0}
    passage = UnitPassage("answer", ("the first passage.", "the answer is about zappa."))
    (reading,) = load_unit_reader(str(model)).read([(AskedQuestion("who is the answer about?"), passage)])
    assert reading.units[1] > 0 > reading.units[0]
    card = (model / "README.md").read_text()
    assert "convqa train reader" in card and "- validation: turns 12" in card


def windows(trunk, record, most=128):
    from tokenizers import Tokenizer

    from convqa.models.kinds.unit_reader import UnitInput
    from convqa.training.reader import labeled_windows

    tokenizer = Tokenizer.from_file(f"{trunk}/tokenizer.json")
    return list(labeled_windows(UnitInput(tokenizer, most), tokenizer, ReadingExample(**record)))


def test_the_label_of_a_unit_and_the_tokens_of_its_answer(trunk):
    first, second = windows(trunk, example(3))
    assert first.answers == [False, True] and second.answers == [False, False]
    start, end = first.units[1]
    # "the answer is about zappa ."
    assert end - start == 6 and first.span == (start + 4, start + 4) and second.span == (0, 0)


def test_a_span_is_known_only_where_the_example_says_so(trunk):
    record = example(3)
    assert [window.span for window in windows(trunk, record | {"has_spans": False})] == [None, None]
    # An answer in other words than the unit's teaches the unit alone.
    assert [window.span for window in windows(trunk, record | {"answer": "kafka"})] == [None, (0, 0)]


def test_a_long_passage_has_the_label_in_the_window_with_the_unit(trunk):
    units = ["the first passage is about it."] * 30
    record = example(3) | {"passages": [ReadPassage(units=units, answers=[29])]}
    made = windows(trunk, record, 60)
    assert len(made) > 3 and [any(window.answers) for window in made] == [False] * (len(made) - 1) + [True]


def test_heads_of_the_base_are_kept(trunk, data, tmp_path):
    """A training can go on from a model with heads, here with a rate at which nothing moves."""
    import torch
    from safetensors.torch import load_file, save_file

    from convqa.training.loop import Bench
    from convqa.training.reader import ReaderTraining

    base = tmp_path / "base"
    shutil.copytree(trunk, base)
    tensors = load_file(base / "model.safetensors")
    tensors["tokens.bias"] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    recipe = ReaderTraining(load("reader", None, {"base": str(base)}), Bench(tmp_path / "made", data))
    assert recipe.net.tokens.bias.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_loss_of_units_counts_the_null_score(trunk):
    import torch

    from convqa.training.reader import _rank_loss

    scores = torch.tensor([9.0, -9.0, -9.0])
    right = torch.tensor([True, False, False])
    assert _rank_loss(scores, right, [2, 1]).item() < 0.01
    assert _rank_loss(scores, torch.tensor([False, False, False]), [2, 1]).item() > 4
