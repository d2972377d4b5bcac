"""Write run.jsonl, entries in the data set's own format, and read it back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from convqa.domain import Response, jwhr_entry
from convqa.files import log, to_json_bytes, whole_file
from convqa.tasks.files import file_at
from convqa.tasks.jwhr.input import parse_entries
from convqa.tasks.jwhr.rules import run_faults
from convqa.tasks.jwhr.schema import RunEntry

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


def write(
    responses: Iterable[Response], directory: Path, stages: frozenset[str], questions: Iterable[str] | None = None
) -> Path:
    """Write one entry per line, with the rewrites if ``questions`` is None."""
    asked = repeat(None) if questions is None else questions
    with whole_file(directory / FILE) as stream:
        for response, question in zip(responses, asked, strict=questions is not None):
            rewritten = response.rewrite.text if response.rewrite else ""
            entry = jwhr_entry(response, rewritten if question is None else question, "answers" in stages)
            stream.write(to_json_bytes(entry) + b"\n")
    return directory / FILE
