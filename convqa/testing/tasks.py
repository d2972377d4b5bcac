"""What every task promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

import pytest
import typer

from convqa.cli import application
from convqa.domain import Answer, Failure, Hit, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.errors import InputError
from convqa.pipeline.load import load
from convqa.plugins import plugins
from convqa.tasks import GROUP, ScoreOptions, Scores, Task, find_task

STAGES = frozenset({"rewrites", "rankings", "readings", "answers"})


class TaskContract:
    """Set ``name``, the task's entry point, and ``files``: a small input and its truth, each file's text by its name.

    ::

        class TestQuiz(TaskContract):
            name = "quiz"
            files = {"quiz.txt": "Who wrote Faust?\\n", "key.txt": "Goethe\\n"}
    """

    name: ClassVar[str]
    files: ClassVar[Mapping[str, str]]
    answers: ClassVar[bool] = True
    """Whether its run files hold answers; otherwise they hold rankings only."""
    scored: ClassVar[bool] = True
    """Whether convqa scores its runs; otherwise others do."""

    @pytest.fixture
    def task(self) -> Task:
        assert self.name in plugins(GROUP), f"no installed package has an entry point {self.name} of the group {GROUP}"
        return find_task(self.name, Path())

    @pytest.fixture
    def input_dir(self, tmp_path: Path) -> Path:
        """A folder with the files of the small input."""
        folder = tmp_path / "input"
        folder.mkdir()
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    def test_it_says_what_it_is_and_its_pipeline_loads(self, task: Task) -> None:
        for name in ("name", "input_file", "run_file", "truth_file", "official_file", "default_pipeline"):
            value = getattr(task, name, None)
            assert isinstance(value, str) and value, f"its {name} is {value!r}"
        stages = load(task.default_pipeline).stages
        assert stages >= {"rewrites", "rankings"}
        assert "answers" in stages or not self.answers, f"{task.default_pipeline} makes no answers"

    def test_its_options_have_defaults_and_are_on_the_command_line(self, task: Task) -> None:
        assert issubclass(task.options, ScoreOptions)
        task.options()
        command: Any = typer.main.get_command(application())
        evaluate = command.commands["evaluate"]
        with typer.Context(evaluate) as context:
            known = {parameter.name: parameter for parameter in evaluate.get_params(context)}
        own = fields(task.options)
        assert {field.name for field in own} <= known.keys()
        for field in own:
            if field.metadata:
                assert known[field.name].help == field.metadata["help"]

    def test_nothing_looks_like_its_input_where_nothing_is(self, task: Task, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "absent"):
            assert not task.has_input(path)
            assert not task.has_truth(path)
            assert not task.has_run(path)
        (tmp_path / "other.json").write_text('{"a": [1]}')
        (tmp_path / "other.jsonl").write_text("\x00\n[]\n")
        assert not task.has_input(tmp_path)
        assert not task.has_input(tmp_path / "other.json")

    def test_what_is_missing_is_refused_by_name(self, task: Task, tmp_path: Path) -> None:
        readers: list[Callable[[Path], object]] = [lambda path: list(task.read(path)), task.gold, task.read_run]
        for read in readers:
            with pytest.raises(InputError, match="absent"):
                read(tmp_path / "absent")

    def test_its_input_is_recognized_and_read_alike_twice(self, task: Task, input_dir: Path) -> None:
        assert task.has_input(input_dir)
        conversations = list(task.read(input_dir))
        turns = [turn for conversation in conversations for turn in conversation.turns]
        assert turns, "the input has no turn"
        assert len({turn.id for turn in turns}) == len(turns), "two turns have one id"
        assert list(task.read(input_dir)) == conversations

    def test_a_run_has_every_turn_and_is_told_by_its_name(self, task: Task, tmp_path: Path) -> None:
        hits = Ranking((Hit("p", 1.0),))
        answered = Response(TurnId(1, 1), Rewrite("q", ()), hits, answer=Answer("answer", "said"))
        failed = Response(TurnId(2, 1), error=Failure("reader", "ValueError", "no"))
        silent = Response(TurnId(3, 1), Rewrite("q", ()), Ranking(), answer=Answer("none", "", reason="nothing"))
        path = task.write(iter([answered, failed, silent]), tmp_path, STAGES, ["q"] * 3)
        assert path == tmp_path / task.run_file
        assert task.has_run(tmp_path)
        assert task.has_run(path)
        run: Any = task.read_run(tmp_path)
        assert task.read_run(path) == run
        if self.answers:
            assert sorted(run.answers.values()) == ["", "", "said"]

    def test_a_run_whose_first_turn_failed_is_valid_and_scored(
        self, task: Task, input_dir: Path, tmp_path: Path
    ) -> None:
        conversations = list(task.read(input_dir))
        turns = [turn for conversation in conversations for turn in conversation.turns]
        hits = Ranking((Hit("p", 1.0),))
        said = Answer.of([Sentence("It is so.")], "en")
        failed = Response(turns[0].id, error=Failure("reader", "ValueError", "no"))
        answered = [Response(turn.id, Rewrite.unchanged(turn.question), hits, answer=said) for turn in turns[1:]]
        output = tmp_path / "output"
        output.mkdir()
        task.write(iter([failed, *answered]), output, STAGES, [turn.question for turn in turns])
        assert task.check(input_dir, output) == []
        if not self.scored:
            return
        assert task.has_truth(input_dir)
        scores = task.score(task.gold(input_dir), task.read_run(output), task.options())
        assert scores and all(isinstance(each, Scores) for each in scores)
        assert task.official_text({each.measure.name: 0.0 for each in scores if each.measure.official})

    def test_a_turns_name_is_one_of_a_kind(self, task: Task) -> None:
        first, second = (task.key(TurnId(id, 1)) for id in ("a", "b"))
        assert first != second
        assert first.keys() == second.keys()
