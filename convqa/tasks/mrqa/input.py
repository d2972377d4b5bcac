"""Read data sets in MRQA's or SQuAD's format, from a file or a folder of files, as conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from convqa.domain import DEFAULT_LANGUAGE, Conversation
from convqa.errors import InputError
from convqa.files import files_in
from convqa.tasks.files import any_file, first_object, start_text
from convqa.tasks.mrqa.formats import (
    MRQA,
    SQUAD,
    Context,
    conversations,
    read_jsonl,
    read_squad,
)
from convqa.tasks.mrqa.sets import ALIASES, domain_of
from convqa.text.analysis import analyzer

Form = Literal["mrqa", "squad"]

EXPECTED = f"{MRQA}, or {SQUAD}"
SUFFIXES = (".jsonl", ".jsonl.gz", ".json")

# As keys, because answers may contain the words.
_DATA = re.compile(r'"data"\s*:')
_PARAGRAPHS = re.compile(r'"paragraphs"\s*:')


@dataclass(frozen=True, slots=True)
class DataSet:
    """A file with contexts, and its name in the shared task."""

    path: Path
    name: str
    language: str
    form: Form | None


def recognize(path: Path) -> bool:
    """Whether a file, or one of a folder, starts like one of the formats."""
    return any_file(path, SUFFIXES, form_of)


def read(path: Path) -> Iterator[Conversation]:
    """Yield conversations one at a time; an error is raised when it is reached."""
    for data_set, context in contexts(path):
        yield from conversations(context, data_set.language)


def data_sets(path: Path) -> list[DataSet]:
    """Return the data set in a file, or those in a folder, by file name."""
    if not path.is_dir():
        return [_data_set(path)]
    sets = [_data_set(file) for file in files_in(path, SUFFIXES)]
    if not sets:
        raise InputError(f"{path}: has no file {', '.join(SUFFIXES)}; expected files with {EXPECTED}.")
    paths: dict[str, Path] = {}
    for data_set in sets:
        other = paths.setdefault(data_set.name, data_set.path)
        if other != data_set.path:
            raise InputError(f"{other} and {data_set.path} are both called {data_set.name}; expected one of them.")
    return sets


def contexts(path: Path) -> Iterator[tuple[DataSet, Context]]:
    """Yield the contexts of the data sets in a file or folder, in which a question may occur only once."""
    owners: dict[str, str] = {}
    for data_set in data_sets(path):
        for context in read_contexts(data_set.path):
            for question in context.questions:
                if question.id in owners:
                    raise InputError(
                        f"{data_set.path}: question {question.id!r} is also in {owners[question.id]}; "
                        "a run has one answer per id."
                    )
                owners[question.id] = data_set.path.name
            yield data_set, context


def read_contexts(path: Path) -> Iterator[Context]:
    """Yield the contexts of a file in either format."""
    form = form_of(path) or ("squad" if path.name.endswith(".json") else "mrqa")  # the better error message
    yield from read_squad(path) if form == "squad" else read_jsonl(path)


def form_of(path: Path) -> Form | None:
    """Return the format by a file's start, None if unknown."""
    start = start_text(path, EXPECTED)
    if start.startswith("{") and _DATA.search(start) and _PARAGRAPHS.search(start):
        return "squad"
    first = first_object(start)
    return "mrqa" if "header" in first or {"context", "qas"} <= first.keys() else None


def _data_set(file: Path) -> DataSet:
    stem = file.name.removesuffix(".gz").rpartition(".")[0]
    header = first_object(start_text(file, EXPECTED)).get("header")
    given = header.get("dataset") if isinstance(header, dict) else None
    names = [ALIASES.get(name, name) for name in (given or stem, stem) if isinstance(name, str)]
    name = next((name for name in names if domain_of(name)), names[0])
    return DataSet(file, name, _language(stem), form_of(file))


def _language(stem: str) -> str:
    """Return the language in the name of XQuAD's files (xquad.de.json), or the default."""
    language = stem.rpartition(".")[2]
    try:
        analyzer(language)
    except InputError:
        return DEFAULT_LANGUAGE
    return language
