"""out.tsv: line i answers line i of the questions with up to ten passage ids, the best first, separated by TAB."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import log, whole_file
from convqa.tasks.files import file_at, read_lines
from convqa.tasks.poleval.input import set_of

FILE = "out.tsv"
WANTED = "a line for each question, with passage ids separated by TAB"
DEPTH = 10
"""Passages that a line should have, and that count."""
HEADER = "Result1"
"""The first field of out-header.tsv, by which GEval knows a header of rankings."""

_WITHOUT_SETS = (
    ". Of several sets each question searches its own: the collection must say the set of a passage in its field set, "
    "which one made without --task poleval has not; make it by: convqa index INPUT --task poleval --collection FOLDER"
)
_ENDS = re.compile("[\t\r\n]")


@dataclass(frozen=True, slots=True)
class Run:
    """The ids of each line as they stand there."""

    path: Path
    rankings: tuple[tuple[str, ...], ...]


def read(path: Path) -> Run:
    """out.tsv, or the one in a directory, read as GEval reads it."""
    file = file_at(path, FILE)
    return Run(file, tuple(rankings(file, WANTED)))


def write(responses: Iterable[Response], directory: Path, *_: object) -> Path:
    """One ranking a line. A turn that failed or found nothing has an empty line.

    One warning counts the lines with fewer than ten ids; where no turn of several sets found anything, it says why that
    may be.

    :raises InputError: for an id that a line cannot hold.
    """
    path = directory / FILE
    lines = short = empty = unfound = 0
    with whole_file(path) as stream:
        for lines, response in enumerate(responses, 1):
            ids = _ids(response)
            if ids[:1] == [HEADER] and lines == 1:
                raise InputError(f"{path}: passage {HEADER!r} cannot begin the file: GEval takes it for a header.")
            short += len(ids) < DEPTH
            empty += not ids
            unfound += not ids and response.error is None and bool(set_of(response.id))
            stream.write("\t".join(ids).encode() + b"\n")
    if short:
        why = _WITHOUT_SETS if empty == lines and unfound else ""
        log.warning(
            "%s: %d of %d lines have fewer than %d passages, %d of them none%s", path, short, lines, DEPTH, empty, why
        )
    return path


def _ids(response: Response) -> list[str]:
    """The ids of the first ten hits, without the set that convqa puts before them."""
    prefix = f"{name}/" if (name := set_of(response.id)) else ""
    ids = [hit.id.removeprefix(prefix) for hit in (response.ranking.hits if response.ranking else ())[:DEPTH]]
    for id in ids:
        if not id or _ENDS.search(id):
            raise InputError(
                f"turn {response.id}: passage id {id!r} cannot stand in {FILE}: wanted one that is not empty, without "
                "TABs and line ends. Rename the passage in the collection."
            )
    return ids


def rankings(path: Path, wanted: str) -> list[tuple[str, ...]]:
    """The ids of each line as GEval has them: it refuses none. A header is left out."""
    rows = [ids_in(line) for _, line in read_lines(path, wanted)]
    return rows[1:] if rows and rows[0][:1] == (HEADER,) else rows


def ids_in(line: bytes) -> tuple[str, ...]:
    """A line as GEval reads it: what is not UTF-8 becomes U+FFFD, carriage returns go, ids end at TABs only.

    >>> ids_in(b"1-0 2-0\\t\\t3-0\\r\\n"), ids_in(b"\\n")
    (('1-0 2-0', '', '3-0'), ())
    """
    text = line.removesuffix(b"\n").decode(errors="replace").replace("\r", "")
    return tuple(text.split("\t")) if text else ()
