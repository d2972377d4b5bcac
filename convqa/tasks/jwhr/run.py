"""run.jsonl: entries in the data set's own form, written whole or not at all, and read back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from convqa.domain import Response, jwhr_entry
from convqa.files import log, to_json_bytes, whole_file
from convqa.tasks.files import file_at
from convqa.tasks.jwhr.input import shaped
from convqa.tasks.jwhr.rules import wrong_in_run
from convqa.tasks.jwhr.schema import RunEntry

FILE = "run.jsonl"


@dataclass(frozen=True, slots=True)
class Run:
    """A run's entries by id."""

    path: Path
    entries: Mapping[int, RunEntry]

    @property
    def answers(self) -> dict[int, str]:
        """The text of the answer, "" where there is none."""
        return {id: entry.answer.text if entry.answer else "" for id, entry in self.entries.items()}


def read(path: Path) -> Run:
    """run.jsonl, or the one in a directory. What is wrong inside an entry is told, and counts as it scores.

    :raises InputError: for what is no entry, and for an id that is there twice.
    """
    file = file_at(path, FILE)
    entries = shaped(file, RunEntry)
    if wrong := [f"{place}: {fault}" for place, entry in entries for fault in wrong_in_run(entry)]:
        log.warning("%s: %d faults, which count as they score. The first: %s", file, len(wrong), wrong[0])
    return Run(file, {entry.id: entry for _, entry in entries})


def write(
    responses: Iterable[Response], directory: Path, stages: frozenset[str], questions: Iterable[str] | None = None
) -> Path:
    """One entry a line. Without questions the rewrites take their place."""
    asked = repeat(None) if questions is None else questions
    with whole_file(directory / FILE) as stream:
        for response, question in zip(responses, asked, strict=questions is not None):
            rewritten = response.rewrite.text if response.rewrite else ""
            found = jwhr_entry(response, rewritten if question is None else question, "answers" in stages)
            stream.write(to_json_bytes(found) + b"\n")
    return directory / FILE
