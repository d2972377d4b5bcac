"""Data sets in a file or a folder of files, each in one of two formats; their contexts become conversations."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from convqa.domain import DEFAULT_LANGUAGE, Conversation
from convqa.errors import InputError
from convqa.tasks.files import files_in, read_start
from convqa.tasks.mrqa import jsonl, squad
from convqa.tasks.mrqa.contexts import Context, conversations
from convqa.tasks.mrqa.jsonl import Lenient
from convqa.tasks.mrqa.sets import AVERAGES, domain_of, official_name
from convqa.text.analysis import analyzer

Form = Literal["mrqa", "squad"]

WANTED = f"{jsonl.WANTED}, or {squad.WANTED}"
SUFFIXES = (".jsonl", ".jsonl.gz", ".json")

_LOOKED_AT = 2**20
_HEADER = 2**16
_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"([^"\\]*)"\s*:')
_DATA, _PARAGRAPHS = re.compile(rb'"data"\s*:'), re.compile(rb'"paragraphs"\s*:')  # keys: answers may say such words


@dataclass(frozen=True, slots=True)
class DataSet:
    """A file with contexts, and the name that the shared task gave it."""

    path: Path
    name: str
    language: str


def recognise(path: Path) -> bool:
    """Whether a file, or one of a folder, begins as one of the formats does; of a pipe its reader says more."""
    return any(map(_is_data_set, files_in(path, SUFFIXES) if path.is_dir() else [path]))


def read(path: Path) -> Iterator[Conversation]:
    """One at a time: a mistake further down comes when it is reached."""
    for one, context in contexts(data_sets(path)):
        yield from conversations(context, one.language)


def data_sets(path: Path) -> list[DataSet]:
    """The data set in a file, or those in a folder, by file name.

    :raises InputError: if there is none, a file is of no known format, or two have one name.
    """
    if not path.is_dir():
        return [_data_set(path)]
    found = [_data_set(file) for file in files_in(path, SUFFIXES)]
    if not found:
        raise InputError(f"{path}: has no file {', '.join(SUFFIXES)}; wanted files with {WANTED}.")
    named: dict[str, Path] = {}
    for one in found:
        if form_of(one.path)[0] is None:  # refused with the words of the reader that it would have
            try:
                next(read_contexts(one.path, aligned=False), None)
            except InputError as error:
                raise InputError(f"{error} Take the file out of {path}, or give the others one by one.") from None
        other = named.setdefault(one.name, one.path)
        if other != one.path:
            raise InputError(
                f"{path}: {other.name} and {one.path.name} are both called {one.name}; wanted one of them."
            )
    return found


def contexts(sets: Iterable[DataSet]) -> Iterator[tuple[DataSet, Context]]:
    """The contexts of data sets, one at a time.

    :raises InputError: naming file and place of the first mistake; also for a question that two data sets have.
    """
    owners: dict[str, DataSet] = {}
    for one in sets:
        for context in read_contexts(one.path, aligned=False):
            for question in context.questions:
                other = owners.setdefault(question.id, one)
                if other is not one:
                    raise InputError(
                        f"{one.path}: question {question.id!r} is in {other.path.name} too, and a run has one answer "
                        "to an id. Give the files one by one."
                    )
            yield one, context


def read_contexts(path: Path, lenient: Lenient | None = None, aligned: bool = True) -> Iterator[Context]:
    """The contexts of a file in either format, in order; MRQA's are read one at a time.

    :param lenient, aligned: as ``read_jsonl`` has them; of SQuAD-format JSON all else is always read strictly.
    """
    form, packed = form_of(path)
    if form is None:  # the reader that can say best what is wrong
        form = "squad" if path.name.endswith(".json") else "mrqa"
    if form == "mrqa":
        yield from jsonl.read_jsonl(path, lenient, aligned)
    elif packed:
        raise InputError(f"{path}: SQuAD-format JSON is read as plain JSON only; unpack it with gunzip.")
    else:
        yield from squad.read_squad(path, aligned)


def form_of(path: Path) -> tuple[Form | None, bool]:
    """The format that a file's beginning shows, None where it shows neither; and whether the file is gzip."""
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


def _is_data_set(path: Path) -> bool:
    try:
        return form_of(path)[0] is not None
    except InputError:
        return path.is_fifo()


def _data_set(file: Path) -> DataSet:
    stem = next((file.name.removesuffix(end) for end in SUFFIXES if file.name.endswith(end)), file.name)
    names = [official_name(name) for name in (*_name_in_header(file), stem)]
    name = next((name for name in names if domain_of(name)), names[0])
    return DataSet(file, file.name if name in AVERAGES else name, _language(stem))


def _name_in_header(file: Path) -> list[str]:
    start, _ = read_start(file, WANTED, _HEADER)
    try:
        header: Any = orjson.loads(start.removeprefix(BOM_UTF8).partition(b"\n")[0])["header"]["dataset"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return []
    return [header] if isinstance(header, str) and header else []


def _language(stem: str) -> str:
    """XQuAD's files say it in their names (xquad.de.json); nothing else does, and what cannot be analysed is as en."""
    language = stem.rpartition(".")[2]
    try:
        analyzer(language)
    except InputError:
        return DEFAULT_LANGUAGE
    return language
