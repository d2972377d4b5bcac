"""predictions.json: {qid: answer}, written whole or not at all, and read back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import parse_json, read_bytes, refuse_bom, to_json_bytes
from convqa.tasks.files import file_at, write_members
from convqa.validation import shorten

FILE = "predictions.json"
WANTED = "a JSON object {qid: answer}"


@dataclass(frozen=True, slots=True)
class Run:
    """A run's answers by question; a question without one is not there."""

    path: Path
    answers: Mapping[str, str]


def read(path: Path) -> Run:
    """predictions.json, or the one in a directory.

    :raises InputError: where the official script would crash: an answer that is no string.
    """
    file = file_at(path, FILE)
    found = read_predictions(file)
    for problem in problems(found):
        raise InputError(f"{file}: {problem}.")
    return Run(file, found)


def read_predictions(file: Path) -> Any:
    """Of what stops the official script's loader, a byte order mark; lone surrogates are no matter to it."""
    data = read_bytes(file, WANTED)
    refuse_bom(file, data)
    return parse_json(file, data, WANTED)


def problems(found: object) -> Iterable[str]:
    """The reason why a JSON value cannot be scored."""
    if not isinstance(found, dict):
        yield f"found {shorten(found)}; wanted {WANTED}"
        return
    for id, answer in found.items():
        if not isinstance(answer, str):
            yield f"question {id!r}: found {shorten(answer)}; wanted a string"


def write(responses: Iterable[Response], directory: Path, *_: object) -> Path:
    """One answer a line. A question that failed or was not answered has "", so that it counts, as 0."""
    answers = ((str(response.id.conversation), response.answer) for response in responses)
    members = (to_json_bytes(id) + b": " + to_json_bytes(answer.text if answer else "") for id, answer in answers)
    return write_members(directory / FILE, members, b"{}")
