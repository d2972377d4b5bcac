"""Check a run.jsonl: report all format errors at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from convqa.tasks.base import id_problems, some_ids
from convqa.tasks.jwhr.input import entry_label, raw_entries, read_entries
from convqa.tasks.jwhr.rules import run_faults
from convqa.tasks.jwhr.schema import RunEntry
from convqa.validation import explain, shorten


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield (entry or "" for the file, message) for a run over the questions at ``input_path``."""
    asked = {entry.id: entry.question for _, entry in read_entries(input_path)}
    entries = list(raw_entries(file))
    for position, value in entries:
        yield from ((entry_label(position, value), message) for message in _entry_errors(value, asked))
    ids = Counter(value["id"] for _, value in entries if isinstance(value, dict) and type(value.get("id")) is int)
    yield from id_problems("entries", asked, ids)
    yield from some_ids("ids occur more than once", [id for id, count in ids.items() if count > 1], len(ids))


def _entry_errors(value: Any, asked: Mapping[int, str]) -> Iterator[str]:
    try:
        entry = RunEntry.model_validate(value)
    except ValidationError as error:
        yield from (f"{field}: {message}" if field else message for field, message in explain(error))
        return
    yield from run_faults(entry)
    question = asked.get(entry.id, entry.question)
    if entry.question != question:
        yield f"question: expected that of the input, {shorten(question)}, got {shorten(entry.question)}"
