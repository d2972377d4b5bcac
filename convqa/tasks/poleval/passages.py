"""Read passages.jl, streamed, since Wikipedia's has 7,097,322 passages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError
from convqa.tasks.poleval.input import Questions, TextRecord, read_questions
from convqa.tasks.records import read_json_lines

EXPECTED = "JSON lines with id, text and, if known, title and meta"


class PassageLine(TextRecord):
    """A line of passages.jl."""

    title: str | None = None
    meta: dict[str, MetaValue | None] | None = None


def passages(path: Path) -> Iterator[Passage] | None:
    """Yield the passages of all sets, or return None without any set.

    With several sets, an id is ``SET/ID`` and ``meta`` contains the set, since ids are distinct only within a set.
    """
    asked = read_questions(path)
    files = files_of(asked)
    missing = [name for name in asked.sets if name not in files]
    if files and missing:
        here = asked.file.parent
        raise InputError(
            f"{asked.file}: there are passages for {', '.join(files)}, but not for {', '.join(missing)}; expected "
            f"{missing[0]}/passages.jl in {here} or in {here.absolute().parent}, or a collection of all sets in "
            "--collection."
        )
    if not files:
        return None
    return chain.from_iterable(_read(file, name if asked.of_several_sets else "") for name, file in files.items())


def files_of(asked: Questions) -> dict[str, Path]:
    """Return the passages.jl (or .jl.gz) of each set that has one.

    It is in the folder of the questions or, as in the published data, in a folder with the set's name there or in the
    parent folder; that of a single set may also be in the parent folder itself.
    """
    here = asked.file.parent
    above = here.absolute().parent
    result: dict[str, Path] = {}
    for name in asked.sets:
        folders = [here / name, above / name] if name else [here]
        if name and not asked.of_several_sets:
            folders = [here, *folders, above]
        files = [folder / f"passages{end}" for folder in folders for end in (".jl", ".jl.gz")]
        file = next(filter(Path.is_file, files), None)
        if file is not None:
            result[name] = file
    return result


def _read(file: Path, name: str) -> Iterator[Passage]:
    for record in read_json_lines(file, PassageLine, EXPECTED):
        meta = {field: value for field, value in (record.meta or {}).items() if value is not None}
        if name:
            meta["set"] = name
        yield Passage(
            f"{name}/{record.id}" if name else record.id,
            record.text,
            record.title or "",
            meta=meta,
        )
