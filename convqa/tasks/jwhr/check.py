"""Every format error of a run.jsonl at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from convqa.errors import InputError
from convqa.tasks.base import Problem, id_problems
from convqa.tasks.jwhr import run
from convqa.tasks.jwhr.input import named, read_entries, read_values
from convqa.tasks.jwhr.rules import wrong_in_run
from convqa.tasks.jwhr.schema import RunEntry
from convqa.validation import explain, shorten


def check(run_path: Path, input_path: Path) -> list[Problem]:
    """All problems of a run (a directory or the file) that answers the questions at ``input_path``.

    :raises InputError: if the questions themselves cannot be read.
    """
    file = run_path / run.FILE if run_path.is_dir() else run_path
    asked = {placed.entry.id: placed.entry.question for placed in read_entries(input_path, quiet=True)}
    try:
        values = list(read_values(file))
    except InputError as error:
        return [Problem(str(file), "", str(error).removeprefix(f"{file}: "))]
    problems = [
        Problem(str(file), named(place, value), message)
        for place, value in values
        for message in _entry_errors(value, asked)
    ]
    ids = Counter(value["id"] for _, value in values if isinstance(value, dict) and type(value.get("id")) is int)
    whole = [
        *id_problems("entries of the input are missing", [id for id in asked if id not in ids], len(asked)),
        *id_problems("entries are not in the input", [id for id in ids if id not in asked], len(ids)),
        *id_problems("ids occur more than once", [id for id, count in ids.items() if count > 1], len(ids)),
    ]
    return problems + [Problem(str(file), "", message) for message in whole]


def _entry_errors(value: Any, asked: Mapping[int, str]) -> Iterator[str]:
    try:
        entry = RunEntry.model_validate(value)
    except ValidationError as error:
        for field, message in explain(error):
            yield f"{field}: {message}" if field else message
        return
    yield from (f"{finding.field}: {finding.message}" for finding in wrong_in_run(entry))
    wanted = asked.get(entry.id, entry.question)
    if entry.question != wanted:
        yield f"question: found {shorten(entry.question)}; wanted that of the input, {shorten(wanted)}"
