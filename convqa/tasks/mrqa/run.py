"""Write predictions.json, an object {qid: answer}, check it, and read it back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import read_json, to_json_bytes
from convqa.tasks.files import file_at, write_members
from convqa.tasks.mrqa.input import contexts
from convqa.tasks.records import Problems, id_problems, mistakes

FILE = "predictions.json"
EXPECTED = "a JSON object {qid: answer}"
_PREDICTIONS = TypeAdapter(dict[str, str], config=ConfigDict(strict=True))


@dataclass(frozen=True, slots=True)
class MRQARun:
    """A run's answers by question id."""

    path: Path
    answers: Mapping[str, str]


def read(path: Path) -> MRQARun:
    """Read predictions.json, or the one in a directory. Refuses what the official script would crash at."""
    file = file_at(path, FILE)
    predictions = read_json(file, EXPECTED, official=True)
    for fault in mistakes(_PREDICTIONS.validate_python, predictions):
        raise InputError(f"{file}: {fault}; expected {EXPECTED}.")
    return MRQARun(file, predictions)


def problems(input_path: Path, file: Path) -> Problems:
    """Yield ("", message) for each format error of a run over the questions at ``input_path``."""
    asked = [question.id for _, context in contexts(input_path) for question in context.questions]
    predictions = read_json(file, EXPECTED, official=True)
    for fault in mistakes(_PREDICTIONS.validate_python, predictions):
        yield "", fault
    if isinstance(predictions, dict):
        yield from id_problems("questions", dict.fromkeys(asked), predictions)


def write(
    responses: Iterable[Response],
    directory: Path,
    *_: object,
) -> Path:
    """Write one answer per line. A question that failed or was not answered has "", so that it counts 0."""
    members = (_member(response) for response in responses)
    return write_members(directory / FILE, members, b"{}")


def _member(response: Response) -> bytes:
    answer = response.answer.text if response.answer else ""
    return to_json_bytes(str(response.id.conversation)) + b": " + to_json_bytes(answer)
