"""The passages that a folder brings: passages.jl, streamed, since Wikipedia's has 7,097,322 of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError
from convqa.tasks.poleval.input import Questions, Record, read_questions, read_records
from convqa.validation import shorten

WANTED = "JSON lines with id, text and, where known, title and meta"


def passages(path: Path) -> Iterator[Passage] | None:
    """The passages of all sets, or None where none are found.

    Where there are several sets an id is ``SET/ID`` and ``meta`` says the set, since their ids may be the same.

    :raises InputError: naming file, line and field of what is no passage; also if some of several sets have none.
    """
    asked = read_questions(path)
    files = files_of(asked)
    lacking = [name for name in asked.sets if name not in files]
    if files and lacking:
        here = asked.file.parent
        raise InputError(
            f"{asked.file}: there are passages for {', '.join(files)}, and none for {', '.join(lacking)}; wanted "
            f"{lacking[0]}/passages.jl in {here} or in {here.absolute().parent}, or a collection of all sets by "
            "--collection."
        )
    if not files:
        return None
    return chain.from_iterable(_read(file, name if asked.of_several_sets else "") for name, file in files.items())


def files_of(asked: Questions) -> dict[str, Path]:
    """Set -> its passages.jl (or .jl.gz), for those sets that have some.

    They lie beside the questions, or, as the published data has them, in a folder of the set's name there or one above;
    those of a single set may also lie one above. A folder that has both files is refused.
    """
    here = asked.file.parent
    above = here.absolute().parent
    found: dict[str, Path] = {}
    for name in asked.sets:
        folders = [here / name, above / name] if name else []
        for folder in folders if asked.of_several_sets else [here, *folders, *([above] if name else [])]:
            files = [file for end in (".jl", ".jl.gz") if (file := folder / f"passages{end}").is_file()]
            if len(files) > 1:
                raise InputError(f"{folder}: has {' and '.join(file.name for file in files)}; wanted one of them.")
            if files:
                found[name] = files[0]
                break
    return found


def unknown(asked: Questions, ids: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Set -> those of its ids that its passages do not have; nothing for sets whose passages are not found.

    Reads until all are found, at worst a minute of millions.
    """
    left = {}
    for name, file in files_of(asked).items():
        left[name] = set(ids.get(name, ()))
        for record in read_records(file, WANTED):
            left[name].discard(record.id)
            if not left[name]:
                break
    return left


def _read(file: Path, name: str) -> Iterator[Passage]:
    for record in read_records(file, WANTED):
        title = record.fields.get("title")
        if title is not None and not isinstance(title, str):
            raise InputError(f"{file}: line {record.line}: title: found {shorten(title)}; wanted a string.")
        id, meta = record.id, _meta(record, file)
        if name:
            id, meta = f"{name}/{id}", {**meta, "set": name}
        yield Passage(id, record.text, title or "", meta=meta)


def _meta(record: Record, file: Path) -> dict[str, MetaValue]:
    meta: Any = record.fields.get("meta")
    where = f"{file}: line {record.line}: meta"
    if meta is not None and not isinstance(meta, dict):
        raise InputError(f"{where}: found {shorten(meta)}; wanted an object.")
    for name, value in (meta or {}).items():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise InputError(f"{where}.{name}: found {shorten(value)}; wanted a string, a number, true or false.")
    return {name: value for name, value in (meta or {}).items() if value is not None}
