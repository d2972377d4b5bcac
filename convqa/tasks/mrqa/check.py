"""Check a predictions.json: report all format errors at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convqa.tasks.base import id_problems
from convqa.tasks.mrqa import run
from convqa.tasks.mrqa.input import contexts, data_sets


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield ("", message) for a run over the questions at ``input_path``."""
    asked = {question.id: None for _, context in contexts(data_sets(input_path)) for question in context.questions}
    predictions = run.read_predictions(file)
    yield from (("", message) for message in run.problems(predictions))
    if isinstance(predictions, dict):
        yield from id_problems("questions", asked, predictions)
