"""Tuning fuses rankings that it searched once: it must reach what the retriever itself reaches."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from convqa.metrics.reciprocal_rank import reciprocal_rank
from convqa.models import load_encoder

PASSAGES = {
    "g": "Goethe wrote the play Faust.",
    "m": "Marlowe wrote Doctor Faustus before Goethe was born.",
    "s": "Schiller wrote The Robbers, a drama.",
    "w": "Weimar is a town in Thuringia, where Goethe lived.",
    "z": "Zebras are striped animals of Africa.",
}


@pytest.fixture
def options(tmp_path, monkeypatch):
    folder = tmp_path / "conversations" / "inscit_dev"
    folder.mkdir(parents=True)
    context = ["Who wrote the play Faust?", "Goethe did."]
    asked = [
        {"Conversation_no": number, "Turn_no": turn, "Question": question, "Context": context * (turn - 1)}
        for number in (1, 2)
        for turn, question in enumerate(["Which doctor lived in a town?", "Where did he live?"], 1)
    ]
    # By words the town comes first, by vector the doctor; nothing is found for the odd conversation.
    gold = {(2, 1): "m", (2, 2): "w"}
    truth = [
        {**record, "Truth_rewrite": "", "Truth_answer": "", "Truth_passages": [gold.get(place, "lost")]}
        for record in asked
        if (place := (record["Conversation_no"], record["Turn_no"]))
    ]
    (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
    (folder / "ground-truth.json").write_text(json.dumps(truth), encoding="utf-8")
    lines = [json.dumps({"id": id, "text": text}) for id, text in PASSAGES.items()]
    (folder / "passages.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield argparse.Namespace(data=tmp_path, work=tmp_path / "work", encoder="encoder", limit=None, folder=folder)
    # The memory that a benchmark gives to the process's encoder is not for other tests.
    vars(load_encoder("encoder")).pop("remembered", None)


@pytest.mark.parametrize(
    ("fusion", "dense", "expected"), [("rrf", 0.5, 1 / 2), ("rrf", 2.0, 2 / 3), ("interpolation", 3.0, 3 / 4)]
)
def test_its_score_is_that_of_the_retriever(options, fusion, dense, expected):
    from conversation_sets import cases
    from retriever_rows import collection, retrievers, search
    from rewriter_rows import Rewrites
    from tuning import Half, Hybrid

    described, own = {"type": "expansion"}, (("weight", 0.4),)
    setting = Hybrid(("question", "rewrite"), fusion, dense)
    rewrites = Rewrites(Path(options.work) / "rewrites")
    found = Half(options.folder, options, rewrites).score(described, own, setting)

    even = [case for case in cases(options.folder) if not case.odd]
    turns = [case.turn for case in even]
    settings = {"hybrid": setting.parameters()}
    url = collection(options.folder, "encoder", options.work)
    retriever = retrievers("encoder", settings)["hybrid"](url)
    rankings = search(retriever, turns, rewrites.of(described, turns, weight=0.4))
    ranks = [
        reciprocal_rank(case.relevant, [hit.id for hit in ranking.hits], 10)
        for case, ranking in zip(even, rankings, strict=True)
    ]
    assert len(ranks) == 2
    assert found == sum(ranks) / 2 == pytest.approx(expected)


def test_the_common_setting_is_the_one_with_the_best_mean(options, monkeypatch):
    import tuning

    monkeypatch.setattr(tuning, "TUNED", ("inscit_dev",))
    for name, values in {"WEIGHTS": (0.3, 1.0), "VECTORS": (("question",), ("rewrite",))}.items():
        monkeypatch.setattr(tuning, name, values)
    monkeypatch.setattr(tuning, "FUSED", (("rrf", 1.0), ("interpolation", 2.0)))
    rows = {name: {"type": name} for name in ("copy", "expansion")}
    record = tuning.tune(options, rows)
    tried = record["tried"]["expansion"]
    assert list(record["tried"]) == ["expansion"]  # copy has nothing to choose
    chosen = record["settings"]["hybrid"]
    best = max(one["MRR@10"] for one in tried)
    assert best in [one["MRR@10"] for one in tried if all(one[name] == value for name, value in chosen.items())]
    assert record["settings"]["rewriters"]["expansion"]["weight"] in (0.3, 1.0)


def test_a_text_is_encoded_once_and_remembered(options):
    from retriever_rows import Remembered

    model = load_encoder("encoder")
    plain = model.encode(["Who?", "When?"], "query")
    memory = Remembered("encoder", options.work)
    assert (model.remembered(["When?", "Who?", "When?"], "query") == plain[[1, 0, 1]]).all()
    memory.save()
    vars(model).pop("remembered")
    model.remembered = lambda texts, role: pytest.fail(f"encoded again: {texts}")
    Remembered("encoder", options.work)
    assert (model.remembered(["Who?"], "query") == plain[:1]).all()
