"""Write, check and read out.tsv: line i has up to ten passage ids for question i, best first, separated by TABs.

The check reports all format errors at once; GEval itself only refuses a wrong number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import log, whole_file
from convqa.tasks.files import file_at, read_lines
from convqa.tasks.poleval.input import read_questions, set_of
from convqa.tasks.records import Problems
from convqa.validation import shorten

FILE = "out.tsv"
EXPECTED = "a line for each question, with passage ids separated by TAB"
DEPTH = 10
"""Number of passages per line that count."""
HEADER = "Result1"
"""The first field of out-header.tsv, by which GEval recognizes a header."""

_ENDS = re.compile("[\t\r\n]")


@dataclass(frozen=True, slots=True)
class PolEvalRun:
    """The ids of each line, unchanged."""

    path: Path
    rankings: tuple[tuple[str, ...], ...]


def read(path: Path) -> PolEvalRun:
    """Read out.tsv, or the one in a directory, as GEval does."""
    file = file_at(path, FILE)
    return PolEvalRun(file, tuple(rankings(file, EXPECTED)))


def write(
    responses: Iterable[Response],
    directory: Path,
    *_: object,
) -> Path:
    """Write one ranking per line, empty for a turn that failed or found nothing.

    One warning counts the lines with fewer than ten ids.
    """
    path = directory / FILE
    lengths = []
    with whole_file(path) as stream:
        for response in responses:
            ids = _ids(response)
            lengths.append(len(ids))
            stream.write("\t".join(ids).encode() + b"\n")
    short = sum(length < DEPTH for length in lengths)
    if short:
        problem = f"{short} of {len(lengths)} lines have fewer than {DEPTH} passages, {lengths.count(0)} of them none"
        log.warning("%s: %s", path, problem)
    return path


def _ids(response: Response) -> list[str]:
    """Return the ids of the first ten hits, without convqa's prefix of the set."""
    prefix = f"{name}/" if (name := set_of(response.id)) else ""
    hits = response.ranking.hits if response.ranking else ()
    ids = [hit.id.removeprefix(prefix) for hit in hits[:DEPTH]]
    for id in ids:
        if not id or _ENDS.search(id):
            raise InputError(
                f"turn {response.id}: passage id {id!r} cannot be written to {FILE}: expected a non-empty id without "
                "TABs and line ends. Rename the passage in the collection."
            )
    return ids


def rankings(path: Path, expected: str) -> list[tuple[str, ...]]:
    """Return the ids of each line, without a header, as GEval reads them; it accepts any line."""
    rows = [parse_ids(line) for _, line in read_lines(path, expected)]
    return rows[1:] if rows and rows[0][:1] == (HEADER,) else rows


def parse_ids(line: bytes) -> tuple[str, ...]:
    """Split a line as GEval does: at TABs only, without carriage returns and with U+FFFD for invalid UTF-8.

    >>> parse_ids(b"1-0 2-0\\t\\t3-0\\r\\n"), parse_ids(b"\\n")
    (('1-0 2-0', '', '3-0'), ())
    """
    text = line.removesuffix(b"\n").decode(errors="replace").replace("\r", "")
    return tuple(text.split("\t")) if text else ()


def problems(input_path: Path, file: Path) -> Problems:
    """Yield (line or "" for the file, message) for a run over the questions at ``input_path``."""
    asked = read_questions(input_path)
    lines = list(read_lines(file, EXPECTED))
    if lines and parse_ids(lines[0][1])[:1] == (HEADER,):
        yield "line 1", "is a header; expected none (GEval ignores it)"
        del lines[0]
    for number, line in lines:
        yield from ((f"line {number}", message) for message in _line_errors(line))
    if len(lines) != len(asked.items):
        yield (
            "",
            f"has {len(lines)} lines; expected {len(asked.items)}, one per question",
        )


def _line_errors(line: bytes) -> Iterator[str]:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        yield f"byte {error.start + 1} is not UTF-8; GEval replaces it by U+FFFD"
    ids = parse_ids(line)
    empty = ids.count("")
    if empty:
        yield f"has {empty} empty ids, each of which takes a rank; expected one TAB between two ids and none at the end"
    for id in dict.fromkeys(ids):
        if id and len(id.split()) != 1:
            yield f"{shorten(id)} has blanks, and GEval reads it as one id; expected TABs between ids"
    if len(ids) > DEPTH:
        yield f"has {len(ids)} ids; expected at most {DEPTH}"
