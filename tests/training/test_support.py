"""The support check's recipe: a head learned from tiny data, its scores, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import load_support
from convqa.training.config import load
from convqa.training.examples import SupportExample
from convqa.training.heads import logistic
from convqa.training.support import claims_of, read_claims, score
from convqa.training.train import Bench, train

PEOPLE = ["Goethe", "Schiller", "Kafka", "Zappa", "Curie", "Darwin"]
NUMBER, OTHER = "number changed", "another sentence"


def said(name, number):
    return f"The work of {name} was printed in {1800 + number} by a small press. Then it was {name} who saw Rome."


def examples(people):
    for number, name in enumerate(people, 1):
        evidence = f"{name}\n{said(name, number)} It rained."
        sentence = said(name, number).split(". ")[0]
        unsupported = {
            NUMBER: {"evidence": evidence, "sentence": sentence.replace("18", "17")},
            OTHER: {"evidence": evidence, "sentence": "The rain fell on all the streets."},
        }
        yield {"conversation": number, "evidence": evidence, "sentence": sentence, "unsupported": unsupported}


def write(path, some):
    path.write_text("".join(json.dumps(one) + "\n" for one in some), encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    """A folder of examples: four conversations train, two are reported on."""
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / "train.jsonl", examples(PEOPLE[:4]))
    write(folder / "report-x.jsonl", examples(PEOPLE[4:]))
    (folder / "sources.md").write_text("- a set of six")
    return folder


def test_the_recipe_makes_a_head_that_is_loaded(data, tmp_path):
    model, scores = train(load("support"), Bench(tmp_path / "made", data))
    assert scores["validation"]["sentences"] == 4 and scores["x report"]["sentences"] == 2
    support = load_support(str(model))
    evidence = f"Kafka\n{said('Kafka', 3)}"
    right, wrong = support.score(
        [(evidence, "It was Kafka who saw Rome."), (evidence, "The rain fell on all the streets.")]
    )
    assert right > wrong
    card = (model / "README.md").read_text()
    assert "convqa train support" in card and "- a set of six" in card and "x report: sentences 2" in card
    manifest = json.loads((model / "convqa.json").read_text())
    assert (manifest["kind"], manifest["name"], manifest["base"], manifest["licence"], manifest["files"]) == (
        "support", "support", "encoder", "Apache-2.0", {},
    )  # fmt: skip
    again, same = train(load("support"), Bench(tmp_path / "again", data))
    assert same == scores and (again / "convqa.json").read_bytes() == (model / "convqa.json").read_bytes()


def test_one_conversation_is_too_few(data, tmp_path):
    write(data / "train.jsonl", examples(PEOPLE[:1]))
    with pytest.raises(InputError, match="expected sentences of at least 2 conversations to train on, got 1"):
        train(load("support"), Bench(tmp_path / "made", data))


def test_several_files_train(data, tmp_path):
    write(data / "train-2.jsonl", examples(PEOPLE[4:]))
    _, scores = train(load("support"), Bench(tmp_path / "made", data))
    assert scores["validation"]["sentences"] == 6


def test_supported_sentences_alone_are_refused(tmp_path):
    path = tmp_path / "train.jsonl"
    write(path, [one | {"unsupported": {}} for one in examples(PEOPLE)])
    with pytest.raises(InputError, match=r"train\.jsonl: expected examples with unsupported sentences, got none"):
        read_claims([path])


def test_the_regression_is_that_of_the_data():
    """At the optimum the weighted residuals are orthogonal to what is given, but for the penalty."""
    draw = np.random.default_rng(3)
    rows = np.column_stack([draw.normal(5, 3, 400), draw.normal(0, 0.1, 400), np.ones(400)])
    sides = (rows[:, 0] + draw.normal(0, 3, 400) > 5).astype(float)
    shares = np.where(sides == 1, 1.5, 0.5)
    weights, offset = logistic(rows, sides, shares, 1e-6)
    residuals = shares * (1 / (1 + np.exp(-(rows @ weights + offset))) - sides)
    assert np.abs(rows.T @ residuals).max() < 1e-3 and weights[0] > 0
    shrunk, _ = logistic(rows, sides, shares, 1000.0)
    assert 0 < shrunk[0] < weights[0]


def test_data_that_are_parted_wholly_have_finite_weights():
    rows = np.linspace(-1, 1, 20)[:, None]
    weights, offset = logistic(rows, (rows[:, 0] > 0).astype(float), np.ones(20), 0.1)
    assert 1 < weights[0] < 100 and abs(offset) < 1


def test_scores_count_every_kind_alike():
    some = claims_of(map(SupportExample.model_validate, examples(PEOPLE)))
    perfect = score(some, [float(claim.supported) for claim in some])
    assert perfect["AUC"] == perfect["accuracy"] == 1
    one_kind = score(some, [float(claim.supported or claim.kind == OTHER) for claim in some])
    assert one_kind["accuracy"] == pytest.approx(1 - 1 / 2 / 2) and one_kind[f"AUC {OTHER}"] == 0.5


def test_a_kind_is_measured_beside_what_it_was_made_from():
    """Whoever only sees that there is a number in a sentence knows nothing."""
    some = claims_of(map(SupportExample.model_validate, examples(PEOPLE)))
    assert score(some, [float(any(map(str.isdigit, one.sentence))) for one in some])["AUC number changed"] == 0.5
