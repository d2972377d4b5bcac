"""Which of the two formats a file has, and its contexts in either."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from convqa.errors import InputError
from convqa.tasks.lines import read_start
from convqa.tasks.mrqa import official, squad
from convqa.tasks.mrqa.contexts import Context
from convqa.tasks.mrqa.mistakes import Lenient

Form = Literal["mrqa", "squad"]

WANTED = f"{official.WANTED}, or {squad.WANTED}"

_LOOKED_AT = 2**20
_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"([^"\\]*)"\s*:')
_DATA, _PARAGRAPHS = re.compile(rb'"data"\s*:'), re.compile(rb'"paragraphs"\s*:')  # keys: answers may say such words


def read_contexts(path: Path, lenient: Lenient | None = None, aligned: bool = True) -> Iterator[Context]:
    """The contexts of a file in either format, in order; MRQA's are read one at a time.

    :param lenient, aligned: as ``read_official`` has them; SQuAD-format JSON is always read strictly.
    :raises InputError: naming file and place of the first mistake.
    """
    form, packed = form_of(path)
    if (form or _form_by_name(path)) == "mrqa":
        yield from official.read_official(path, lenient, aligned)
    elif packed:
        raise InputError(f"{path}: SQuAD-format JSON is read as plain JSON only; unpack it with gunzip.")
    else:
        yield from squad.read_squad(path)


def form_of(path: Path) -> tuple[Form | None, bool]:
    """The format that a file's beginning shows, None where it shows neither; and whether the file is gzip.

    :raises InputError: if it cannot be read.
    """
    start, packed = read_start(path, WANTED, _LOOKED_AT)
    first = _FIRST_KEY.match(start)
    if first is None:
        return None, packed
    if _DATA.search(start) and _PARAGRAPHS.search(start):
        return "squad", packed
    line, end, _ = start[first.start(1) - 1 :].partition(b"\n")
    goes_on = not end and len(start) == _LOOKED_AT  # a context so long that its questions are further on
    is_mrqa = first.group(1) == b"header" or (b'"context"' in line and (b'"qas"' in line or goes_on))
    return ("mrqa" if is_mrqa else None), packed


def _form_by_name(path: Path) -> Form:
    """Where the beginning of a file shows no format: the reader that can say best what is wrong."""
    return "squad" if path.name.endswith(".json") else "mrqa"
