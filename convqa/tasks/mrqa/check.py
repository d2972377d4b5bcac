"""Every format error of a predictions.json at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convqa.files import read_json
from convqa.tasks.base import Problem, id_problems, problems
from convqa.tasks.files import file_at
from convqa.tasks.mrqa import run
from convqa.tasks.mrqa.input import contexts, data_sets


def check(run_path: Path, input_path: Path) -> list[Problem]:
    """All problems of a run (a directory or the file) that answers the questions at ``input_path``.

    :raises InputError: if the questions themselves cannot be read.
    """
    asked = [question.id for _, context in contexts(data_sets(input_path)) for question in context.questions]

    def wrong(file: Path) -> Iterator[tuple[str, str]]:
        found = read_json(file, run.WANTED)
        yield from (("", message) for message in run.problems(found))
        if isinstance(found, dict):
            yield from id_problems("questions", dict.fromkeys(asked), found)

    return problems(file_at(run_path, run.FILE), wrong)
