from __future__ import annotations

import pytest

from convqa import tasks
from convqa.errors import InputError
from convqa.tasks import find_task
from convqa.tasks.base import Problem
from convqa.tasks.qrecc import QReCC


class Other(QReCC):
    name = "other"


def test_auto_finds_the_task_that_matches(tmp_path):
    (tmp_path / "questions.json").write_text("[]")
    assert find_task("auto", tmp_path).name == "qrecc"
    assert find_task("auto", tmp_path / "questions.json").name == "qrecc"


def test_a_named_task_needs_no_match(tmp_path):
    assert find_task("qrecc", tmp_path / "any.json").name == "qrecc"


def test_unknown_name():
    with pytest.raises(InputError, match=r"--task qrec: not known\. Did you mean 'qrecc'\? Tasks: auto, .*qrecc"):
        find_task("qrec", None)


def test_missing_path(tmp_path):
    with pytest.raises(InputError, match=r"absent: no such file or directory; wanted the input of a task"):
        find_task("auto", tmp_path / "absent")


def test_no_match(tmp_path):
    with pytest.raises(InputError, match=r"does not look like the input of any task .*name its task with --task"):
        find_task("auto", tmp_path)


def test_two_matches(tmp_path, monkeypatch):
    (tmp_path / "questions.json").write_text("[]")
    monkeypatch.setattr(tasks, "tasks", lambda: {"other": Other(), "qrecc": QReCC()})
    with pytest.raises(InputError, match=r"looks like the input of other and qrecc: say which with --task other"):
        find_task("auto", tmp_path)


def test_problem_reads_as_a_line():
    assert str(Problem("run.json", "record 3", "no")) == "run.json: record 3: no"
    assert str(Problem("run.json", "", "no")) == "run.json: no"
