"""Every format error of a predictions.json at once."""

from __future__ import annotations

from pathlib import Path

from convqa.errors import InputError
from convqa.files import read_json
from convqa.tasks.base import Problem, id_problems
from convqa.tasks.mrqa import run
from convqa.tasks.mrqa.input import data_sets, read_contexts


def check(run_path: Path, input_path: Path) -> list[Problem]:
    """All problems of a run (a directory or the file) that answers the questions at ``input_path``.

    :raises InputError: if the questions themselves cannot be read.
    """
    file = run_path / run.FILE if run_path.is_dir() else run_path
    wanted = {
        question.id: None
        for one in data_sets(input_path)
        for context in read_contexts(one.path, aligned=False)
        for question in context.questions
    }
    try:
        found = read_json(file, run.WANTED)
    except InputError as error:
        return [Problem(str(file), "", str(error).removeprefix(f"{file}: "))]
    messages = list(run.problems(found))
    if isinstance(found, dict):
        messages += id_problems(
            "questions of the input are missing", [id for id in wanted if id not in found], len(wanted)
        )
        messages += id_problems("questions are not in the input", [id for id in found if id not in wanted], len(found))
    return [Problem(str(file), "", message) for message in messages]
