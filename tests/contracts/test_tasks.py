"""What every task promises: ours, found in their folders, and those of ``--convqa-member``."""

from __future__ import annotations

from dataclasses import fields

import pytest
import typer

from convqa.cli import application
from convqa.domain import Answer, Failure, Hit, Ranking, Response, Rewrite, TurnId
from convqa.errors import InputError
from convqa.pipeline.load import load
from convqa.tasks import Measure, ScoreOptions, Scores, Task, tasks

STAGES = frozenset({"rewrites", "rankings", "readings", "answers"})

RANKING = {"poleval"}
"""Tasks whose runs hold rankings and no answers."""


def tasks_under_test(config):
    """Convqa's own tasks, and those of other packages that ``--convqa-member`` names."""
    outside = {cls.name: cls() for cls in config.outside if isinstance(cls, type) and issubclass(cls, Task)}
    return [*(tasks() | outside).values()]


def pytest_generate_tests(metafunc):
    if "task" in metafunc.fixturenames:
        found = tasks_under_test(metafunc.config)
        names = [type(task).__module__.removeprefix("convqa.tasks.").removesuffix(".task") for task in found]
        metafunc.parametrize("task", found, ids=names)


def test_it_says_what_it_is_and_its_pipeline_loads(task):
    assert isinstance(task, Task)
    for name in ("name", "input_file", "run_file", "truth_file", "official_file", "default_pipeline"):
        assert isinstance(getattr(task, name), str) and getattr(task, name)
    made = load(task.default_pipeline).stages
    assert made >= {"rewrites", "rankings"} and ("answers" in made or task.name in RANKING)


def test_its_options_have_defaults_and_are_on_the_command_line(task):
    assert issubclass(task.options, ScoreOptions)
    task.options()
    assert task.name in tasks(), "an entry point of the group convqa.tasks is missing"
    evaluate = typer.main.get_command(application()).commands["evaluate"]
    with typer.Context(evaluate) as context:
        known = {parameter.name: parameter for parameter in evaluate.get_params(context)}
    for field in fields(task.options):
        if field.metadata:
            assert known[field.name].help == field.metadata["help"]
    assert {field.name for field in fields(task.options)} <= known.keys()


def test_nothing_looks_like_its_input_where_nothing_is(task, tmp_path):
    for path in (tmp_path, tmp_path / "absent"):
        assert not task.has_input(path) and not task.has_truth(path) and not task.has_run(path)
    (tmp_path / "other.json").write_text('{"a": [1]}')
    (tmp_path / "other.jsonl").write_text("\x00\n[]\n")
    assert not task.has_input(tmp_path) and not task.has_input(tmp_path / "other.json")


def test_what_is_missing_is_refused_by_name(task, tmp_path):
    for read in (lambda path: list(task.read(path)), task.gold, task.read_run):
        with pytest.raises(InputError, match="absent"):
            read(tmp_path / "absent")


def test_a_run_has_every_turn_and_is_told_by_its_name(task, tmp_path):
    found = Ranking((Hit("p", 1.0),))
    answered = Response(TurnId(1, 1), Rewrite("q", ()), found, answer=Answer("answer", "said"), timings={}, error=None)
    failed = Response(TurnId(2, 1), error=Failure("reader", "ValueError", "no"))
    silent = Response(TurnId(3, 1), Rewrite("q", ()), Ranking(), answer=Answer("none", "", reason="nothing"))
    path = task.write(iter([answered, failed, silent]), tmp_path, STAGES, ["q"] * 3)
    assert path == tmp_path / task.run_file and task.has_run(tmp_path) and task.has_run(path)
    run = task.read_run(tmp_path)
    assert task.read_run(path) == run
    if task.name == "trec":  # whose runfile holds rankings alone, and is scored by others
        assert run.path.read_text() == "1 Q0 p 1 1.0 convqa\n"
    elif task.name in RANKING:
        assert run.rankings == (("p",), (), ())
    else:
        assert sorted(run.answers.values()) == ["", "", "said"]


def test_a_turns_name_is_one_of_a_kind(task):
    names = [task.key(TurnId(id, 1)) for id in ("a", "b")]
    assert names[0] != names[1] and names[0].keys() == names[1].keys()


def test_groups_and_values_go_together_when_scores_are_split():
    ids = tuple(TurnId(name, 1) for name in "abc")
    whole = Scores(Measure("F1", scale=100), ids, (1.0, 0.0, 0.5), groups=("x", "y", "y"))
    assert whole.of({ids[0], ids[2]}).by_group() == {"x": [1.0], "y": [0.5]}
    assert whole.of({ids[2]}).by_group() == {"y": [0.5]}
    assert Scores(Measure("F1"), ids, (1.0, 0.0, 0.5)).by_group() == {"": [1.0, 0.0, 0.5]}
