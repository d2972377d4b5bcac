"""Lines of text as the task's files have them: strictly, as input is read, and leniently, as GEval reads rankings."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path

from convqa.errors import InputError
from convqa.tasks.lines import read_lines

HEADER = "Result1"
"""The first field of out-header.tsv, by which GEval knows a header of rankings."""


def read_rows(path: Path, wanted: str) -> Iterator[tuple[int, str]]:
    """(number, line without its end) of a file in UTF-8; a mark of byte order and carriage returns are taken away.

    :raises InputError: naming the line that is blank or not UTF-8.
    """
    for number, line in read_lines(path, wanted):
        try:
            text = (line.removeprefix(BOM_UTF8) if number == 1 else line).decode().replace("\r", "").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: line {number}: byte {error.start + 1} is not UTF-8; wanted {wanted} in UTF-8."
            ) from None
        if not text.strip():
            raise InputError(f"{path}: line {number}: is blank; wanted {wanted}.")
        yield number, text


def read_rankings(path: Path, wanted: str) -> list[tuple[str, ...]]:
    """The ids of each line, as GEval has them; a header is left out.

    :raises InputError: if the file cannot be read; there is nothing else that GEval refuses in a line.
    """
    return [ids for _, ids in numbered_rankings(path, wanted)]


def numbered_rankings(path: Path, wanted: str) -> list[tuple[int, tuple[str, ...]]]:
    """What ``read_rankings`` reads, each with the number of its line in the file."""
    rows = [(number, ids_in(line)) for number, line in read_lines(path, wanted)]
    return rows[1:] if rows and rows[0][1][:1] == (HEADER,) else rows


def ids_in(line: bytes) -> tuple[str, ...]:
    """What GEval makes of a line: what is not UTF-8 becomes U+FFFD, carriage returns go, ids end at TABs only.

    >>> ids_in(b"1-0 2-0\\t\\t3-0\\r\\n"), ids_in(b"\\n")
    (('1-0 2-0', '', '3-0'), ())
    """
    text = line.removesuffix(b"\n").decode(errors="replace").replace("\r", "")
    return tuple(text.split("\t")) if text else ()
