from __future__ import annotations

import json

import pytest

from convqa import tasks
from convqa.errors import InputError
from convqa.tasks import find_scored_task, find_task
from convqa.tasks.qrecc.task import QReCC


class Other(QReCC):
    name = "other"


class Apart(QReCC):
    """The same name of run files, as two tasks may have, and another one of the truth."""

    name = "apart"
    truth_file = "truth.tsv"


class Alike(QReCC):
    """The same name of the truth, and another one of run files."""

    name = "alike"
    run_file = "run.tsv"


def register(monkeypatch, classes):
    """Put these tasks in the place of the entry points."""
    monkeypatch.setattr(tasks, "plugins", lambda group: classes)
    monkeypatch.setattr(tasks, "load", lambda cls: cls)


def test_auto_finds_the_task_that_matches(tmp_path):
    (tmp_path / "questions.json").write_text("[]")
    assert find_task("auto", tmp_path).name == "qrecc"
    assert find_task("auto", tmp_path / "questions.json").name == "qrecc"


def test_a_named_task_needs_no_match(tmp_path):
    assert find_task("qrecc", tmp_path / "any.json").name == "qrecc"


def test_unknown_name():
    with pytest.raises(InputError, match=r"--task qrec: unknown task\. Did you mean 'qrecc'\? Tasks: auto, .*qrecc"):
        find_task("qrec", None)


def test_missing_path(tmp_path):
    with pytest.raises(InputError, match=r"absent: no such file or directory; expected the input of a task"):
        find_task("auto", tmp_path / "absent")


def test_no_match(tmp_path):
    with pytest.raises(InputError, match=r"does not look like the input of any task; .*Name the task with --task"):
        find_task("auto", tmp_path)


def test_a_truth_without_its_input_names_the_missing_file(tmp_path):
    (tmp_path / "ground-truth.json").write_text("[]")
    with pytest.raises(InputError, match=r"has the truth of qrecc and not its input; expected questions\.json"):
        find_task("auto", tmp_path)


def test_a_checkout_that_is_not_installed(tmp_path, monkeypatch):
    register(monkeypatch, {})
    with pytest.raises(InputError, match="pip install"):
        find_task("auto", tmp_path)


def test_two_matches(tmp_path, monkeypatch):
    (tmp_path / "questions.json").write_text("[]")
    register(monkeypatch, {"other": Other, "qrecc": QReCC})
    with pytest.raises(InputError, match=r"looks like the input of other and qrecc: choose one with --task other"):
        find_task("auto", tmp_path)


def touched(folder, *names):
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


@pytest.fixture
def three_tasks(monkeypatch):
    register(monkeypatch, {"alike": Alike, "apart": Apart, "qrecc": QReCC})


@pytest.mark.usefixtures("three_tasks")
def test_a_truth_and_its_run_tell_their_task(tmp_path):
    truth, other = touched(tmp_path / "t", "ground-truth.json"), touched(tmp_path / "o", "truth.tsv")
    run, table = touched(tmp_path / "r", "run.json"), touched(tmp_path / "s", "run.tsv")
    nothing = tmp_path / "absent"
    for name, places in {
        "qrecc": (truth, run),
        "alike": (truth, table),
        "apart": (other, run),
    }.items():
        assert find_scored_task("auto", *places).name == name
    assert find_scored_task("auto", other / "truth.tsv", run / "run.json").name == "apart"
    # Where they contradict each other the truth decides; where it is missing, the run.
    assert find_scored_task("auto", other, table).name == "apart"
    assert find_scored_task("auto", nothing, table).name == "alike"
    assert find_scored_task("qrecc", other, table).name == "qrecc"


@pytest.mark.usefixtures("three_tasks")
def test_files_of_two_tasks_of_none_and_of_an_unknown_one(tmp_path):
    run, nothing = touched(tmp_path / "r", "run.json"), tmp_path / "absent"
    with pytest.raises(InputError, match=r"look like the truth and a run of apart and qrecc: choose one with --task"):
        find_scored_task("auto", nothing, run)
    with pytest.raises(InputError, match=r"truth\.tsv and run\.json \(apart\), ground-truth\.json and run\.json"):
        find_scored_task("auto", nothing, nothing)
    with pytest.raises(InputError, match=r"r looks like a run, and .*t like its truth: give the truth first"):
        find_scored_task("auto", run, touched(tmp_path / "t", "truth.tsv"))
    with pytest.raises(InputError, match=r"--task aprt: unknown task\. Did you mean 'apart'"):
        find_scored_task("aprt", nothing, run)


def test_a_run_alone_tells_its_task(tmp_path):
    assert find_scored_task("auto", tmp_path, touched(tmp_path / "r", "my-run.json") / "my-run.json").name == "qrecc"


OUTSIDE = """
from convqa.tasks import ScoreOptions, option
from convqa.tasks.qrecc.task import QReCC
from dataclasses import dataclass

@dataclass(frozen=True)
class Halves(ScoreOptions):
    by_halves: bool = option(False, "Score halves, too.")

class Half(QReCC):
    name = "half"
    input_file = "half.json"
    options = Halves
    def has_input(self, path):
        return path.name == "half.json"
"""


def test_a_task_of_another_package(installed, tmp_path, call):
    installed("half_task", "convqa.tasks", "half = half_task:Half", OUTSIDE)
    (tmp_path / "half.json").touch()
    assert find_task("half", tmp_path).name == "half" == find_task("auto", tmp_path / "half.json").name
    with pytest.raises(InputError, match=r"questions\.jl \(poleval\).*half\.json \(half\)|half\.json \(half\)"):
        find_task("auto", tmp_path)
    assert "--by-halves" in call("evaluate", "--help")[1]


def test_the_options_of_a_task_are_its_own(installed, root, tmp_path, call):
    source = (root / "tests" / "fixtures" / "outside" / "outside" / "quiz.py").read_text()
    installed("quizzes", "convqa.tasks", "quiz = quizzes:Quiz", source)
    (tmp_path / "key.txt").write_text("a\nb\n")
    (tmp_path / "answers.txt").write_text("a\nc\n")
    for given, mean in (((), 0.5), (("--points", "4"), 2.0), (("--points", "0"), 0.0)):
        code, out, err = call("evaluate", tmp_path, tmp_path, "--task", "quiz", "--json", *given)
        assert (code, err) == (0, "") and json.loads(out)["measures"]["right"]["mean"] == mean, given
    # An option of another task, which nobody gave, is no matter.
    truth = root / "tests" / "fixtures" / "qrecc"
    assert "no option" not in call("evaluate", truth, truth, "--task", "qrecc")[2]


@pytest.mark.parametrize(
    ("point", "source", "reason"),
    [
        ("half = absent_module:Half", "", r"half: the entry point .* of lost .*No module named 'absent_module'"),
        (
            "half = bare:Half",
            "from convqa.tasks import Task\nclass Half(Task): pass",
            r"bare:Half: Can't instantiate abstract class Half",
        ),
        (
            "half = other:Half",
            OUTSIDE.replace('"half"', '"other"'),
            r"other:Half: expected a subclass of Task with this name",
        ),
    ],
)
def test_a_broken_one_is_no_matter_until_it_is_asked_for(installed, tmp_path, call, point, source, reason):
    package = point[7:].partition(":")[0]
    installed("lost" if package == "absent_module" else package, "convqa.tasks", point, source)
    (tmp_path / "questions.json").touch()
    assert find_task("auto", tmp_path).name == find_task("qrecc", tmp_path).name == "qrecc"
    assert "--sas" in call("evaluate", "--help")[1]
    with pytest.raises(InputError, match=reason):
        find_task("half", tmp_path)
