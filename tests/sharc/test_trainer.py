"""The condition check's recipe: a head learned from tiny data, its folds and scores, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.sharc.judge import load_conditions
from convqa.sharc.trainer import ConditionExample, score
from convqa.training.config import load
from convqa.training.heads import folds
from convqa.training.train import Bench, train

PLACES = ["Rome", "Cyprus", "France", "Malta", "Spain", "Greece"]


def example(told, yes, place, foreign=False):
    question = "Do you own a ship?" if foreign else f"Do you live in {place}?"
    return ConditionExample(told=told, question=question, yes=yes, source=place, foreign=foreign)


def examples(places):
    for place in places:
        yield example(f"I live in {place} with my dog.", True, place)
        yield example(f"I don't live in {place}.", False, place)
        yield example("I have a question about money.", None, place)
        yield example(f"I live in {place}.", None, place, foreign=True)


def write(path, some):
    path.write_text("".join(one.model_dump_json() + "\n" for one in some), encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    """A folder of examples: three places train, three are reported on."""
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / "train.jsonl", examples(PLACES[3:]))
    write(folder / "report-x.jsonl", examples(PLACES[:3]))
    return folder


def test_folds_hold_out_every_group_once():
    groups = [one.source for one in examples(PLACES)]
    assert np.sum(folds(groups), axis=0).tolist() == [1] * len(groups)


def test_scores_of_perfect_and_of_blind_checks():
    some = list(examples(["Rome"]))
    perfect = score(some, np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.5]]))
    assert perfect["AUC open"] == perfect["AUC foreign"] == perfect["AUC yes"] == perfect["accuracy"] == 1
    blind = score(some, np.full((4, 2), 0.5))
    assert blind["AUC open"] == blind["AUC yes"] == blind["accuracy"] == 0.5


def test_the_recipe_makes_a_head_that_is_loaded(data, tmp_path):
    folder, scores = train(load("conditions", None, {"threshold": 0.5}), Bench(tmp_path / "made", data))
    judge = load_conditions(str(folder))
    assert judge.threshold == 0.5 and set(scores) == {"validation", "x report"}
    yes, no = judge.judge(
        [("I live in Oslo.", "Do you live in Oslo?"), ("I don't live in Oslo.", "Do you live in Oslo?")]
    )
    assert yes.yes > no.yes
    assert "the user's own examples" in (folder / "README.md").read_text()


def test_what_cannot_be_learned_from_is_refused(data, tmp_path):
    write(data / "train.jsonl", [one for one in examples(PLACES) if one.yes is not True])
    with pytest.raises(InputError, match=r"expected training questions answered yes \(true\), answered no"):
        train(load("conditions"), Bench(tmp_path / "made", data))
