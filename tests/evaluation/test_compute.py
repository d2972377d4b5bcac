"""Evaluation is the same for every task: a small one with files, options, groups and measures of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.evaluation import evaluate, official_text, render, write_official, write_trec, write_turns
from convqa.evaluation.compute import support_scorer
from convqa.models import load_support
from convqa.places import shipped
from convqa.tasks import Measure, ScoreOptions, Scores, Task


@dataclass(frozen=True)
class Line:
    id: TurnId
    fields: dict[str, Any]


@dataclass(frozen=True)
class Lines:
    path: Path
    turns: tuple[Line, ...]


@dataclass(frozen=True)
class Lenient(ScoreOptions):
    lenient: bool = False

    def to_json(self):
        return {"lenient": self.lenient}


class Spelling(Task):
    """One word a line, right or wrong; no conversations, no passages."""

    name = "spelling"
    input_file = "questions.txt"
    run_file = "words.txt"
    truth_file = "truth.txt"
    official_file = "score.txt"
    default_pipeline = "default"
    id_field = "word"
    options = Lenient

    def read(self, path):
        return iter(())

    def write(self, responses, directory, stages):
        return directory

    def gold(self, path):
        words = (path / self.truth_file).read_text().split()
        return Lines(path, tuple(Line(TurnId(word, 1), {"first": word[0]}) for word in words))

    def read_run(self, path):
        return Lines(path, tuple(Line(TurnId(word, 1), {}) for word in (path / self.run_file).read_text().split()))

    def score(self, gold, run, options):
        fold = str.lower if options.lenient else str
        found = {fold(line.id.conversation) for line in run.turns}
        ids = tuple(line.id for line in gold.turns)
        right = tuple(float(fold(id.conversation) in found) for id in ids)
        letters = tuple(float(len(id.conversation)) for id in ids)
        return [
            Scores(Measure("right", official=True), ids, right),
            Scores(Measure("letters", line="right", label="letters"), ids, letters),
            Scores(Measure("style", official=True), skipped="nobody can tell"),
            Scores(Measure("extra"), ids[:1], right[:1]),
        ]

    def breakdowns(self, gold, path):
        return {"length": partial(self._by_length, gold)}

    def _by_length(self, gold):
        ids = [line.id for line in gold.turns]
        return {
            "long": frozenset(id for id in ids if len(id.conversation) > 2),
            "any": frozenset(ids),
        }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "truth.txt").write_text("Ab cde ce")
    (tmp_path / "words.txt").write_text("ab cde")
    return tmp_path


def text_of(evaluation, width=80):
    from rich.console import Console

    console = Console(width=width)
    with console.capture() as capture:
        console.print(render(evaluation))
    return capture.get()


def test_measures_options_and_groups_are_the_tasks(folder):
    evaluation = evaluate(folder, folder, task=Spelling(), breakdown=["length", "first"])
    assert evaluation.summaries["right"].mean == pytest.approx(1 / 3)
    assert evaluation.skipped == {"style": "nobody can tell"}
    right = {
        name: {group: (by["right"].mean, by["right"].turns) for group, by in groups.items()}
        for name, groups in evaluation.breakdowns.items()
    }
    assert right == {
        "length": {"long": (1, 1), "any": (pytest.approx(1 / 3), 3)},
        "first": {"A": (0, 1), "c": (0.5, 2)},
    }
    lenient = evaluate(folder, folder, task=Spelling(), lenient=True)
    assert lenient.summaries["right"].mean == pytest.approx(2 / 3)
    assert lenient.to_json()["task"] == "spelling"
    assert lenient.to_json()["options"] == {"lenient": True}


def test_files_and_table_are_the_tasks(folder):
    evaluation = evaluate(folder, folder, task=Spelling())
    assert write_official(evaluation, folder) == folder / "score.txt"
    assert json.loads((folder / "score.txt").read_text()) == {"right": pytest.approx(1 / 3)}
    assert official_text(evaluation) == (folder / "score.txt").read_text()
    rows = [json.loads(line) for line in write_turns(evaluation, folder / "turns.jsonl").read_text().splitlines()]
    assert rows[0] == {"word": "Ab", "right": 0, "letters": 2, "extra": 0}
    assert rows[2] == {"word": "ce", "right": 0, "letters": 2}
    table = text_of(evaluation)
    assert "letters 2.333" in table and "nobody can tell" in table and "extra" in table
    with pytest.raises(InputError, match="--trec: a run of the task spelling has no rankings"):
        write_trec(evaluation, folder)


def test_an_option_of_another_task_is_named(folder):
    with pytest.raises(InputError, match=r"task spelling has no option --leniant\. Did you mean '--lenient'"):
        evaluate(folder, folder, task=Spelling(), leniant=True)


def test_a_task_by_name_and_by_its_files(folder):
    with pytest.raises(InputError, match=r"--task spel: unknown task"):
        evaluate(folder, folder, task="spel")
    with pytest.raises(InputError, match="do not look like the truth and a run of any task"):
        evaluate(folder, folder)


def meta(folder, models):
    (folder / "run.meta.json").write_text(json.dumps({"fingerprint": {"models": models}}))
    return folder


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"status": "unfinished"}, "is not finished. Give its command again"),
        ({"status": "shard", "fingerprint": {"shard": "1/2"}}, "is a shard of a run. Merge all shards first"),
    ],
)
def test_a_run_that_is_not_finished_says_what_to_do(tmp_path, data, message):
    (tmp_path / "run.meta.json").write_text(json.dumps(data))
    truth = shipped("examples", "qrecc-trec")
    with pytest.raises(InputError, match=message):
        evaluate(truth, tmp_path)


LEXICAL = load_support("lexical").identity


@pytest.mark.parametrize("identity", [LEXICAL, f"{LEXICAL} (torch float32 on cpu)", "sha256:0"])
@pytest.mark.parametrize("place", ["", "run.json"])
def test_the_builders_own_scorer_is_warned_of(tmp_path, identity, place, caplog):
    path = meta(tmp_path, {"retriever": {"encoder": "x"}, "builder": {"support": identity}}) / place
    assert support_scorer("lexical", path).name == "lexical"
    assert ("--support lexical: this run was built with it" in caplog.text) == (identity != "sha256:0")
