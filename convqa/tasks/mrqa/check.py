"""Every format error of a predictions.json at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convqa.tasks.base import id_problems
from convqa.tasks.mrqa import run
from convqa.tasks.mrqa.input import contexts, data_sets


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """("", what is wrong) of a run that answers the questions at ``input_path``."""
    asked = {question.id: None for _, context in contexts(data_sets(input_path)) for question in context.questions}
    found = run.read_predictions(file)
    yield from (("", message) for message in run.problems(found))
    if isinstance(found, dict):
        yield from id_problems("questions", asked, found)
