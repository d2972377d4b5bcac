"""The support check's examples and recipe: what is made false, who is held apart, and a head learnt from tiny data."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import load_support
from convqa.training.config import load
from convqa.training.data import claims
from convqa.training.data.claims import BM25, CLAPNQ, CONVERSATION, INSCIT, KINDS, OTHER, SUPPORTED, split
from convqa.training.heads import logistic
from convqa.training.support import score
from convqa.training.train import Bench, train

CHANCE = random.Random(1)


@pytest.mark.parametrize(
    ("sentence", "evidence", "possible"),
    [
        ("It has 12 parts.", "It has 12 parts.", {f"It has {n} parts." for n in range(13, 22)}),
        ("He had 1,999 men.", "He had 1,999 men.", {f"He had 2,00{n} men." for n in range(9)}),
        ("It has 12 parts.", "Of 13, 14, 15, 16, 17, 18, 19, 20, 21 and 22.",
         {f"It has {n} parts." for n in range(13, 24)}),
        ("It has parts.", "It has 12.", {None}),
        ("On the A4 it rains.", "", {None}),
    ],
)  # fmt: skip
def test_another_number(sentence, evidence, possible):
    assert {claims.number(sentence, evidence, CHANCE) for _ in range(50)} <= possible


def test_another_name_is_of_the_evidence():
    evidence = "In May the city of Weimar saw Charlotte von Stein and Goethe again."
    made = {claims.name("The poet Goethe came in May.", evidence, CHANCE) for _ in range(20)}
    assert made == {"The poet Weimar came in May.", "The poet Charlotte came in May.", "The poet Stein came in May."}
    assert claims.name("The poet came.", evidence, CHANCE) is None
    assert claims.name("The poet Goethe came.", "It was Goethe.", CHANCE) is None
    assert claims.name("It was Goethe.", "It was Goethe.", CHANCE) is None


@pytest.mark.parametrize(
    ("sentence", "made"),
    [
        ("It isn't old.", "It is old."),
        ("It has been sold.", "It has not been sold."),
        ("They came and were not seen.", "They came and were seen."),
        ("It is never sold.", None),
        ("They came.", None),
    ],
)
def test_a_negation_more_or_less(sentence, made):
    assert claims.negation(sentence, "", CHANCE) == made


PEOPLE = ["Goethe", "Schiller", "Kafka", "Zappa", "Curie", "Darwin"]


def said(name, number):
    return f"The work of {name} was printed in {1800 + number} by a small press. Then it was {name} who saw Rome."


@pytest.fixture
def data(tmp_path):
    """A data folder as the recipe wants it: two turns and two passages for each of six conversations."""
    folders = [tmp_path / name for name in ("inscit", "conversations/inscit_dev", "conversations/clapnq_dev")]
    for folder in folders:
        folder.mkdir(parents=True)
    conversations, passages, truths = {}, [], []
    for number, name in enumerate(PEOPLE, 1):
        turns = []
        for turn, text in enumerate([said(name, number), f"The house of {name} is not open, as {name} sold it."], 1):
            key = f"{name}:{turn}"
            passages.append({"id": key, "title": name, "text": f"{text} It rained."})
            labels = [
                {"responseType": kind, "response": text, "evidence": [{"passage_id": key, "passage_text": text}]}
                for kind in ("directAnswer", "clarification")
            ]
            turns.append({"context": [], "labels": labels})
        conversations[name] = {"seedArticle": {}, "turns": turns}
        truths.append({"Conversation_no": number, "Turn_no": 1, "Truth_answer": said(name, number), "Answerable": True,
                       "Truth_passages": [f"{name}:1"]})  # fmt: skip
    truths.append({**truths[0], "Conversation_no": 7, "Answerable": False, "Truth_passages": []})
    lines = "".join(json.dumps(one) + "\n" for one in passages)
    (folders[0] / "dev.json").write_text(json.dumps(conversations), encoding="utf-8")
    (folders[1] / "passages.jsonl").write_text(lines, encoding="utf-8")
    (folders[2] / "passages.jsonl").write_text(lines, encoding="utf-8")
    (folders[2] / "ground-truth.json").write_text(json.dumps(truths), encoding="utf-8")
    return tmp_path


def test_even_conversations_train_and_odd_ones_are_reported_on(data):
    training, reported = split(data)
    assert {claim.conversation for claim in training} == {2, 4, 6}
    assert {claim.conversation for claim in reported[INSCIT]} == {1, 3, 5}
    assert {claim.conversation for claim in reported[CLAPNQ]} == {1, 2, 3, 4, 5, 6}
    told = {claim.evidence.split("\n")[0] for claim in training}
    assert told == {"Schiller", "Zappa", "Darwin"}  # no passage of what reports, not as a wrong one either
    assert [claim.kind for claim in training].count(SUPPORTED) == 9
    assert {claim.kind for claim in reported[INSCIT]} == {SUPPORTED, *KINDS}


def test_what_a_passage_supports_is_no_wrong_example(data):
    for claim in [claim for reported in split(data)[1].values() for claim in reported]:
        whole = claim.sentence in claim.evidence
        assert whole == claim.supported, claim


def test_evidence_that_reports_does_not_train(data):
    file = data / "inscit" / "dev.json"
    found = json.loads(file.read_text())
    found["Schiller"]["turns"][0]["labels"][0]["evidence"] = [{"passage_id": "Goethe:1", "passage_text": ""}]
    file.write_text(json.dumps(found))
    training, _ = split(data)
    assert not any(said("Schiller", 2)[:30] in claim.sentence for claim in training if claim.supported)


def test_wrong_passages_are_those_that_a_search_finds(data):
    claims = split(data)[1][INSCIT]
    (first,) = [claim.origin for claim in claims if claim.supported and claim.sentence.startswith("The work of Kafka")]
    kinds = {claim.kind: claim for claim in claims if claim.origin == first}
    assert kinds[SUPPORTED].evidence.startswith("Kafka\nThe work")
    assert kinds[BM25].evidence.startswith(("Kafka\nThe house", "Goethe\nThe work", "Curie\nThe work", "Schiller\nThe"))
    assert kinds[CONVERSATION].evidence.startswith("Kafka\nThe house")
    assert kinds[OTHER].evidence == kinds[SUPPORTED].evidence and "Kafka was printed" not in kinds[OTHER].sentence


def test_a_data_folder_that_lacks_files_is_refused(data, tmp_path):
    (data / "inscit" / "dev.json").unlink()
    with pytest.raises(InputError, match=r"the data folder lacks inscit/dev.json\. See docs"):
        train(load("support"), Bench(tmp_path / "made", data))
    with pytest.raises(InputError, match="missing data folder"):
        train(load("support"), Bench(tmp_path / "made"))


def test_the_recipe_makes_a_head_that_is_loaded(data, tmp_path):
    model, scores = train(load("support"), Bench(tmp_path / "made", data))
    assert scores["validation"]["sentences"] == 9 and scores["inscit report"]["sentences"] == 9
    assert scores["clapnq report"]["AUC"] > 0.8
    support = load_support(str(model))
    evidence = f"Kafka\n{said('Kafka', 3)}"
    right, wrong = support.score(
        [(evidence, "It was Kafka who saw Rome."), (evidence, "The rain fell on all the streets.")]
    )
    assert right > wrong
    card = (model / "README.md").read_text()
    assert "convqa train support" in card and "INSCIT" in card and "clapnq report: sentences 12" in card
    manifest = json.loads((model / "convqa.json").read_text())
    assert (manifest["kind"], manifest["name"], manifest["base"], manifest["licence"], manifest["files"]) == (
        "support", "support", "encoder", "Apache-2.0", {},
    )  # fmt: skip
    again, same = train(load("support"), Bench(tmp_path / "again", data))
    assert same == scores and (again / "convqa.json").read_bytes() == (model / "convqa.json").read_bytes()


def test_one_conversation_is_too_few(data, tmp_path):
    file = data / "inscit" / "dev.json"
    file.write_text(json.dumps(dict(list(json.loads(file.read_text()).items())[:3])))
    with pytest.raises(InputError, match="expected answers of at least 2 conversations to train on, got 1"):
        train(load("support"), Bench(tmp_path / "made", data))


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


def test_scores_count_every_kind_alike(data):
    claims = split(data)[1][INSCIT]
    perfect = score(claims, [float(claim.supported) for claim in claims])
    assert perfect["AUC"] == perfect["accuracy"] == 1
    one_kind = score(claims, [float(claim.supported or claim.kind == BM25) for claim in claims])
    assert one_kind["accuracy"] == pytest.approx(1 - 1 / len(KINDS) / 2) and one_kind[f"AUC {BM25}"] == 0.5


def test_a_kind_is_measured_beside_what_it_was_made_from(data):
    """Whoever only sees that there is a number in a sentence knows nothing."""
    claims = split(data)[1][INSCIT]
    assert score(claims, [float(any(map(str.isdigit, one.sentence))) for one in claims])["AUC number changed"] == 0.5
