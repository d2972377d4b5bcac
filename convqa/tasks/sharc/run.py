"""predictions.json: an array of {utterance_id, answer}, written whole or not at all, and read back for scoring."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import mend, read_json, to_json_bytes
from convqa.tasks.files import any_file, file_at, read_start, write_members
from convqa.validation import shorten

FILE = "predictions.json"
WANTED = "a JSON array of {utterance_id, answer}"
DEPTH = 20
"""Passages of a ranking that a run keeps."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run's answers by utterance, and the ids of its ranked passages, best first, where it has rankings."""

    path: Path
    answers: Mapping[str, str]
    passages: Mapping[str, Sequence[str]]


def read(path: Path) -> Run:
    """predictions.json, or the one in a directory.

    :raises InputError: for what cannot be scored: another shape, an answer that is no string, an utterance that is
        there twice.
    """
    file = file_at(path, FILE)
    records = read_json(file, WANTED, official=True)
    for place, problem in problems(records):
        raise InputError(f"{file}: {place}: {problem}." if place else f"{file}: {problem}.")
    return Run(
        file,
        {record["utterance_id"]: record["answer"] for record in records},
        {record["utterance_id"]: record["passages"] for record in records if "passages" in record},
    )


def problems(records: object) -> Iterator[tuple[str, str]]:
    """(record, or "" for the file; what is wrong) for all that keeps a JSON value from being scored."""
    if not isinstance(records, list):
        yield "", f"found {shorten(records)}; wanted {WANTED}"
        return
    places: dict[str, int] = {}
    for index, record in enumerate(records):
        place = f"record {index}"
        if not isinstance(record, dict):
            yield place, f"found {shorten(record)}; wanted {{utterance_id, answer}}"
            continue
        id = record.get("utterance_id")
        if isinstance(id, str) and places.setdefault(id, index) != index:
            yield place, f"utterance_id: {id!r} is that of record {places[id]} too"
        for field in ("utterance_id", "answer"):
            if field not in record:
                yield place, f"{field}: is missing"
            elif not isinstance(record[field], str):
                yield place, f"{field}: found {shorten(record[field])}; wanted a string"
            elif mend(record[field])[1]:
                problem = "half a character (a lone surrogate), at which the official script stops"
                yield place, f"{field}: found {shorten(record[field])} with {problem}; wanted whole ones"
        ids = record.get("passages", [])
        if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
            yield place, f"passages: found {shorten(ids)}; wanted an array of ids"


def recognise(path: Path) -> bool:
    """Whether it is or holds predictions.json, and this begins as an array does: MRQA's runs have the same name."""
    file = file_at(path, FILE)
    begins = any_file(
        file, (), lambda file: read_start(file, WANTED, 100)[0].removeprefix(BOM_UTF8).lstrip()[:1] == b"["
    )
    return file.name.endswith(FILE) and begins


def write(responses: Iterable[Response], directory: Path, stages: frozenset[str], *_: object) -> Path:
    """One answer a line. An utterance that failed or was not answered has "".

    ``passages``, which the official scripts do not look at, are ours: the first ``DEPTH`` ids of the ranking.
    """
    members = (to_json_bytes(_record(response, "rankings" in stages)) for response in responses)
    return write_members(directory / FILE, members, b"[]")


def _record(response: Response, ranked: bool) -> dict[str, Any]:
    text = response.answer.text if response.answer else ""
    record = {"utterance_id": str(response.id.conversation), "answer": text}
    if not ranked:
        return record
    hits = response.ranking.hits[:DEPTH] if response.ranking else ()
    return {**record, "passages": [hit.id for hit in hits]}
