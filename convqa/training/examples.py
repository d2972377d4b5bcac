"""The files of examples in a folder that ``convqa train --data`` names: their names, their records, their sources.

``train.jsonl`` trains, ``validation.jsonl`` validates and ``report.jsonl`` is reported on. Each may be several files,
``report-NAME.jsonl``, and gzipped. Errors name file, line and field.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from convqa.errors import InputError
from convqa.files import files_in
from convqa.models.kinds.resolver_input import Past
from convqa.tasks.records import read_json_lines
from convqa.validation import Record, Shape

TRAIN, VALIDATION, REPORT = "train", "validation", "report"

SOURCES = "sources.md"
"""File with the origin and the licenses of the examples, as Markdown for the model card."""

_ENDINGS = (".jsonl", ".jsonl.gz", ".json")


class RewriteExample(Record, extra="forbid"):
    """A question, its history (oldest first), its human rewrite, and its conversation."""

    conversation: str = Field(strict=False, coerce_numbers_to_str=True)
    question: str = Field(min_length=1)
    history: list[Past] = Field(min_length=1)
    rewrite: str = Field(min_length=1)


class SearchExample(Record, extra="forbid"):
    """A question, its history (oldest first), and what it searches for.

    ``rewrite``: its human rewrite, "" if there is none. ``gold``: ids of passages of ``collection`` that answer.
    """

    conversation: str = Field(strict=False, coerce_numbers_to_str=True)
    question: str = Field(min_length=1)
    history: list[Past] = []
    rewrite: str = ""
    collection: str = ""
    gold: list[str] = []


class SearchPassage(Record, extra="forbid"):
    """A passage of a collection that examples search in."""

    collection: str = ""
    id: str = Field(min_length=1)
    text: str = Field(min_length=1)


class ReadPassage(Record, extra="forbid"):
    """The title and the units of a passage, in order. ``answers``: the indices of the units that answer."""

    title: str = ""
    units: list[str] = Field(min_length=1)
    answers: list[int] = []


class ReadingExample(Record, extra="forbid"):
    """A question, its history (oldest first), its rewrite, and the passages that are read.

    ``answer``: words of a unit that answers. ``has_spans``: whether these teach where an answer begins and ends.
    """

    question: str = Field(min_length=1)
    history: list[Past] = []
    rewrite: str = ""
    passages: list[ReadPassage] = Field(min_length=1)
    answer: str = ""
    has_spans: bool = False


def files(folder: Path, part: str) -> dict[str, Path]:
    """Return label -> file for the files of a part, by name.

    The label of ``report.jsonl`` is ``report``, that of ``report-NAME.jsonl`` is ``NAME report``.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected a folder of examples. See docs/reference/training.md.")
    labels: dict[str, Path] = {}
    for path in files_in(folder, _ENDINGS):
        first, _, name = path.name.rpartition(".json")[0].partition("-")
        if first == part:
            other = labels.setdefault(f"{name} {part}".strip(), path)
            if other != path:
                raise InputError(f"{folder}: {other.name} and {path.name} have one name; expected one of them.")
    return labels


def required_files(folder: Path, part: str) -> dict[str, Path]:
    """Return label -> file for the files of a part, at least one."""
    paths = files(folder, part)
    if not paths:
        raise InputError(
            f"{folder}: expected {part}.jsonl or {part}-NAME.jsonl, got neither. See docs/reference/training.md."
        )
    return paths


def read(path: Path, shape: type[Shape]) -> list[Shape]:
    """Read the records of a file of JSON lines, at least one; blank lines are skipped."""
    expected = f"JSON lines of {{{', '.join(shape.model_fields)}}}"
    return list(read_json_lines(path, shape, expected))


def sources(folder: Path) -> str:
    """Return the text of ``sources.md``, or a line that says that there is none."""
    path = folder / SOURCES
    if not path.is_file():
        return "- the user's own examples"
    return path.read_text(encoding="utf-8", errors="replace").strip()
