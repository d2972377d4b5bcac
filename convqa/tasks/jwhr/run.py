"""Write run.jsonl, entries in the data set's own format, check it, and read it back for scoring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from convqa.domain import Response
from convqa.files import log, to_json_bytes, whole_file
from convqa.tasks.base import id_problems, some_ids
from convqa.tasks.files import file_at
from convqa.tasks.jwhr.entry import entry_of
from convqa.tasks.jwhr.input import entry_label, parse_entries, raw_entries, read_entries
from convqa.tasks.jwhr.schema import RunEntry, run_faults
from convqa.validation import explain, shorten

FILE = "run.jsonl"


@dataclass(frozen=True, slots=True)
class Run:
    """A run's entries by id."""

    path: Path
    entries: Mapping[int, RunEntry]

    @property
    def answers(self) -> dict[int, str]:
        """The text of each answer, "" if unanswered."""
        return {id: entry.answer.text if entry.answer else "" for id, entry in self.entries.items()}


def read(path: Path) -> Run:
    """Read run.jsonl, or the one in a directory. Faults inside an entry are a warning, and affect its scores."""
    file = file_at(path, FILE)
    entries = parse_entries(file, RunEntry)
    if faults := [f"{position}: {fault}" for position, entry in entries for fault in run_faults(entry)]:
        log.warning("%s: %d faults, which affect the scores. The first: %s", file, len(faults), faults[0])
    return Run(file, {entry.id: entry for _, entry in entries})


def write(responses: Iterable[Response], directory: Path, stages: frozenset[str], questions: Iterable[str]) -> Path:
    """Write one entry per line."""
    with whole_file(directory / FILE) as stream:
        for response, question in zip(responses, questions, strict=True):
            stream.write(to_json_bytes(entry_of(response, question, "answers" in stages)) + b"\n")
    return directory / FILE


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
