"""Passages from JSONL files, streamed. What cannot be a passage is refused with file, line and field."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError
from convqa.files import parse_line
from convqa.stores.content import MOST_BYTES, content
from convqa.tasks.files import read_lines
from convqa.validation import Record, explain, shorten

logger = logging.getLogger(__name__)

SUFFIXES = (".jsonl", ".jsonl.gz")
_LINES = "JSON lines of passages, plain or gzip"
_NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class _Line(Record, extra="allow"):
    """One line. ``text`` or, as Anserini has it, ``contents``."""

    id: str | int
    text: str | None = None
    contents: str | None = None
    title: str | None = None
    url: str | None = None
    meta: dict[str, str | int | float | bool] | None = None


def read_passages(sources: Sequence[Path]) -> Iterator[Passage]:
    """Passages of JSONL files (plain or gzip) and of all such files in folders, in order.

    A number as id becomes its string. Unknown fields are ignored with one warning; a lone surrogate in a text becomes
    U+FFFD with one warning.

    :raises InputError: naming file, line and field, for what is missing, damaged or no passage.
    """
    notes = _Notes()
    for path in _files(sources):
        empty = True
        for number, line in read_lines(path, _LINES):
            if line.strip():
                empty = False
                yield _passage(line, f"{path}:{number}", notes)
        if empty:
            raise InputError(f"{path} is empty. Wanted: one JSON object a line, with id and text.")


def places_of(sources: Sequence[Path], id: str) -> list[str]:
    """Where passages of this id stand: ``file:line`` of each."""
    notes = _Notes()
    return [
        f"{path}:{number}"
        for path in _files(sources)
        for number, line in read_lines(path, _LINES)
        if line.strip() and _passage(line, f"{path}:{number}", notes).id == id
    ]


class _Notes:
    """Warnings that are given once for all files."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def once(self, kind: str, message: str, *values: object) -> None:
        if kind not in self._given:
            self._given.add(kind)
            logger.warning(message, *values)


def _files(sources: Sequence[Path]) -> Iterator[Path]:
    for source in sources:
        if source.is_dir():
            found = sorted(path for path in source.iterdir() if path.name.endswith(SUFFIXES) and path.is_file())
            if not found:
                raise InputError(f"folder {source} has no passages. Wanted in it: files *.jsonl or *.jsonl.gz.")
            yield from found
        elif source.exists():
            yield source
        else:
            raise InputError(f"passages {source} do not exist. Wanted: a JSONL file, plain or gzip, or a folder.")


def _passage(line: bytes, place: str, notes: _Notes) -> Passage:
    data, replaced = parse_line(line, place, _WANTED)
    if replaced:
        notes.once("surrogate", "%s: lone surrogates are replaced by U+FFFD, here and in what follows", place)
    record = _record(data, place)
    if replaced and "\ufffd" in str(record.id):
        # It could be the id of another passage.
        raise InputError(f"{place}: id: found a lone surrogate (here U+FFFD) in {shorten(record.id)}; wanted: none.")
    if record.model_extra:
        notes.once(
            "unknown",
            "%s: unknown fields are ignored here and in what follows: %s (known: id, text, contents, title, url, meta)",
            place,
            ", ".join(sorted(record.model_extra)),
        )
    text = record.contents if record.text is None else record.text
    if record.contents is not None and record.contents != text:
        raise InputError(
            f"{place}: text and contents: found {shorten(text)} and {shorten(record.contents)}; wanted: one of them, "
            "or the same in both."
        )
    if text is None or not text.strip():
        found = "neither" if text is None else shorten(text)
        raise InputError(f"{place}: text: found {found}; wanted: a text that is not empty, under text or contents.")
    passage = Passage(_id(record.id, place), text, record.title or "", record.url or "", _meta(record.meta, place))
    if len(line) > MOST_BYTES:  # else the passage has no more either
        try:
            content(passage)
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
    return passage


def _record(data: Any, place: str) -> _Line:
    if not isinstance(data, dict):
        raise InputError(f"{place}: found {shorten(data)}. {_WANTED}")
    name = data.get("id")
    if isinstance(name, str) and (bad := _NOT_IN_IDS.search(name)):
        raise InputError(
            f"{place}: id: found {shorten(name)} with the character U+{ord(bad[0]):04X}; wanted: no control "
            "characters or line ends in an id."
        )
    try:
        return _Line.model_validate(data)
    except ValidationError as error:
        field, message = explain(error)[0]
        raise InputError(f"{place}: {field}: {message}. {_WANTED}") from error


def _id(value: str | int, place: str) -> str:
    if not str(value).strip():
        raise InputError(f"{place}: id: found {value!r}; wanted: a name that is not empty.")
    return str(value)


def _meta(meta: dict[str, MetaValue] | None, place: str) -> dict[str, MetaValue]:
    for name, value in (meta or {}).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{place}: meta.{name}: found {value}; wanted: a finite number.")
    return meta or {}


_WANTED = 'Wanted: one JSON object a line, such as {"id": "p1", "text": "...", "title": "..."}.'
