"""Write predictions.json, an object {qid: answer}, check it, and read it back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import read_json, to_json_bytes
from convqa.tasks.files import file_at, write_members
from convqa.tasks.mrqa.input import contexts, data_sets
from convqa.tasks.records import id_problems
from convqa.validation import shorten

FILE = "predictions.json"
EXPECTED = "a JSON object {qid: answer}"


@dataclass(frozen=True, slots=True)
class Run:
    """A run's answers by question id."""

    path: Path
    answers: Mapping[str, str]


def read(path: Path) -> Run:
    """Read predictions.json, or the one in a directory. Refuses what the official script would crash at."""
    file = file_at(path, FILE)
    predictions = read_json(file, EXPECTED, official=True)
    for fault in faults(predictions):
        raise InputError(f"{file}: {fault}.")
    return Run(file, predictions)


def faults(predictions: object) -> Iterator[str]:
    """Yield the reasons why a JSON value cannot be scored."""
    if not isinstance(predictions, dict):
        yield f"expected {EXPECTED}, got {shorten(predictions)}"
        return
    for id, answer in predictions.items():
        if not isinstance(answer, str):
            yield f"question {id!r}: expected a string, got {shorten(answer)}"


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield ("", message) for each format error of a run over the questions at ``input_path``."""
    asked = {question.id: None for _, context in contexts(data_sets(input_path)) for question in context.questions}
    predictions = read_json(file, EXPECTED, official=True)
    yield from (("", fault) for fault in faults(predictions))
    if isinstance(predictions, dict):
        yield from id_problems("questions", asked, predictions)


def write(responses: Iterable[Response], directory: Path, *_: object) -> Path:
    """Write one answer per line. A question that failed or was not answered has "", so that it counts 0."""
    answers = ((str(response.id.conversation), response.answer) for response in responses)
    members = (to_json_bytes(id) + b": " + to_json_bytes(answer.text if answer else "") for id, answer in answers)
    return write_members(directory / FILE, members, b"{}")
