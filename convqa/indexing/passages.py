"""Stream passages from JSONL files. Errors name file, line and field."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import AliasChoices, Field

from convqa.documents.find import PASSAGE_SUFFIXES
from convqa.domain import MetaField, Passage
from convqa.errors import InputError
from convqa.files import files_in, parse_line
from convqa.tasks.files import read_lines
from convqa.validation import Record, read_as, shorten

logger = logging.getLogger(__name__)

SUFFIXES = PASSAGE_SUFFIXES
_PASSAGES_PER_REPORT = 1000
_EXPECTED_FILE = "JSON lines of passages, plain or gzip"
_EXPECTED = 'Expected one JSON object a line, such as {"id": "p1", "text": "...", "title": "..."}.'
_NOT_IN_IDS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class PassageProgress(Protocol):
    """Called with the number of passages done; ``total`` 0 means unknown."""

    def __call__(self, done: int, total: int = 0) -> None: ...


class PassageRecord(Record, extra="allow", allow_inf_nan=False):
    """A line. BEIR has ``_id`` instead of ``id``, and Anserini ``contents`` instead of ``text``, which counts if there
    are both."""

    id: str | int = Field(validation_alias=AliasChoices("id", "_id"))
    text: str | None = None
    contents: str | None = None
    title: str | None = None
    url: str | None = None
    meta: dict[str, MetaField] | None = None


def read_passages(sources: Sequence[Path]) -> Iterator[Passage]:
    """Yield the passages of JSONL files (plain or gzip) and of all such files in folders, in order.

    A numeric id becomes a string. Unknown fields are ignored, and lone surrogates become U+FFFD, with one warning each.

    :raises InputError: naming file, line and field, for missing or damaged files and malformed passages.
    """
    warned: set[str] = set()
    for path in _files(sources):
        lines = ((number, line) for number, line in read_lines(path, _EXPECTED_FILE) if line.strip())
        number = 0
        for number, line in lines:
            yield _passage(line, f"{path}:{number}", warned)
        if not number:
            raise InputError(f"{path} is empty. {_EXPECTED}")


def reporting(passages: Iterator[Passage], progress: PassageProgress | None) -> Iterator[Passage]:
    """Yield the same passages and report their number to ``progress``."""
    if progress is None:
        yield from passages
        return
    done = 0
    for done, passage in enumerate(passages, 1):
        yield passage
        if done % _PASSAGES_PER_REPORT == 0:
            progress(done)
    progress(done)


def _files(sources: Sequence[Path]) -> Iterator[Path]:
    for source in sources:
        if source.is_dir():
            paths = files_in(source, SUFFIXES)
            if not paths:
                raise InputError(f"folder {source} has no passages; expected files *.jsonl or *.jsonl.gz.")
            yield from paths
        elif source.exists():
            yield source
        else:
            raise InputError(f"passages {source} do not exist; expected a JSONL file, plain or gzip, or a folder.")


def _passage(line: bytes, place: str, warned: set[str]) -> Passage:
    """Return the passage of a line. ``warned`` has the warnings given so far."""
    data, replaced = parse_line(line, place, _EXPECTED)
    record = read_as(PassageRecord, data, place, _EXPECTED)
    notes = [f"the unknown field {name!r} is ignored" for name in record.model_extra or {}]
    if replaced:
        notes.append("lone surrogates are replaced by U+FFFD")
    for note in notes:
        if note not in warned:
            logger.warning("%s: %s, here and below", place, note)
            warned.add(note)
    text = record.contents if record.text is None else record.text
    if text is None or not text.strip():
        raise InputError(f"{place}: text: expected a non-empty text under text or contents, got {shorten(text)}.")
    id = str(record.id)
    if not id.strip() or _NOT_IN_IDS.search(id):
        raise InputError(
            f"{place}: id: expected a non-empty name without control characters and line ends, got {shorten(id)}."
        )
    return Passage(id, text, record.title or "", record.url or "", record.meta or {})
