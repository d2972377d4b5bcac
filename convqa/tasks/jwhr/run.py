"""Write run.jsonl, entries in the data set's own format, check it, and read it back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import Response
from convqa.files import log, to_json_bytes, whole_file
from convqa.tasks.files import file_at
from convqa.tasks.jwhr.entry import entry_of
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.schema import RUN_ENTRIES, RunEntry, run_faults
from convqa.tasks.records import Problems, id_problems, mistakes
from convqa.validation import shorten

FILE = "run.jsonl"


@dataclass(frozen=True, slots=True)
class JWHRRun:
    """A run's entries by id."""

    path: Path
    entries: Mapping[int, RunEntry]

    @property
    def answers(self) -> dict[int, str]:
        """The text of each answer, "" if unanswered."""
        return {id: entry.answer.text if entry.answer else "" for id, entry in self.entries.items()}


def read(path: Path) -> JWHRRun:
    """Read run.jsonl, or the one in a directory. Faults inside an entry are a warning, and affect its scores."""
    file = file_at(path, FILE)
    entries = RUN_ENTRIES.read(file)
    faults = [f"{label}: {fault}" for label, entry in entries for fault in run_faults(entry)]
    if faults:
        log.warning(
            "%s: faults that affect the scores: %d. The first: %s",
            file,
            len(faults),
            faults[0],
        )
    return JWHRRun(file, {entry.id: entry for _, entry in entries})


def write(
    responses: Iterable[Response],
    directory: Path,
    stages: frozenset[str],
    questions: Iterable[str],
) -> Path:
    """Write one entry per line."""
    path = directory / FILE
    with whole_file(path) as stream:
        for response, question in zip(responses, questions, strict=True):
            stream.write(to_json_bytes(entry_of(response, question, "answers" in stages)) + b"\n")
    return path


def problems(input_path: Path, file: Path) -> Problems:
    """Yield (entry or "" for the file, message) for a run over the questions at ``input_path``."""
    asked = {entry.id: entry.question for _, entry in read_entries(input_path)}
    ids = []
    for label, value in RUN_ENTRIES.values(file):
        if isinstance(value, dict) and type(value.get("id")) is int:
            ids.append(value["id"])
        faults = mistakes(RunEntry.model_validate, value) or _faults(RunEntry.model_validate(value), asked)
        yield from ((label, fault) for fault in faults)
    yield from id_problems("entries", asked, ids)


def _faults(entry: RunEntry, asked: Mapping[int, str]) -> Iterator[str]:
    yield from run_faults(entry)
    question = asked.get(entry.id, entry.question)
    if entry.question != question:
        yield f"question: expected that of the input, {shorten(question)}, got {shorten(entry.question)}"
