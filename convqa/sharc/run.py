"""Write predictions.json, an array of {utterance_id, answer}, check it, and read it back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import read_json, to_json_bytes
from convqa.sharc.input import read_records, source
from convqa.tasks.base import id_problems
from convqa.tasks.files import UnicodeText, any_file, file_at, start_text, write_members
from convqa.validation import Record, explain, shorten

FILE = "predictions.json"
EXPECTED = "a JSON array of {utterance_id, answer}"
DEPTH = 20
"""Number of ranked passages in a run."""


class Prediction(Record):
    """A record of predictions.json. ``passages`` is our own field, which the official scripts ignore."""

    utterance_id: UnicodeText
    answer: UnicodeText
    passages: list[str] = []


@dataclass(frozen=True, slots=True)
class Run:
    """A run's answers by utterance, and the ids of its ranked passages, best first, if it has rankings."""

    path: Path
    answers: Mapping[str, str]
    passages: Mapping[str, Sequence[str]]


def read(path: Path) -> Run:
    """Read predictions.json, or the one in a directory."""
    file = file_at(path, FILE)
    records = read_json(file, EXPECTED, official=True)
    for position, fault in faults(records):
        raise InputError(f"{file}: {position}: {fault}." if position else f"{file}: {fault}.")
    return Run(
        file,
        {record["utterance_id"]: record["answer"] for record in records},
        {record["utterance_id"]: record["passages"] for record in records if "passages" in record},
    )


def faults(records: object) -> Iterator[tuple[str, str]]:
    """Yield (record or "" for the file, message) for all that prevents a JSON value from being scored."""
    if not isinstance(records, list):
        yield "", f"expected {EXPECTED}, got {shorten(records)}"
        return
    indexes: dict[str, int] = {}
    for index, record in enumerate(records):
        position = f"record {index}"
        if not isinstance(record, dict):
            yield position, f"expected {{utterance_id, answer}}, got {shorten(record)}"
            continue
        id = record.get("utterance_id")
        if isinstance(id, str) and indexes.setdefault(id, index) != index:
            yield position, f"utterance_id: {id!r} is also that of record {indexes[id]}"
        try:
            Prediction.model_validate(record)
        except ValidationError as error:
            yield from ((position, f"{field}: {message}") for field, message in explain(error))


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield (record or "" for the file, message) for a run over the utterances at ``input_path``."""
    asked = {record.utterance_id: None for _, record in read_records(source(input_path))}
    records = read_json(file, EXPECTED, official=True)
    yield from faults(records)
    if isinstance(records, list):
        ids = {str(record.get("utterance_id")): None for record in records if isinstance(record, dict)}
        yield from id_problems("utterances", asked, ids)


def recognise(path: Path) -> bool:
    """Whether it is or holds a predictions.json with an array; MRQA's runs have the same name."""
    file = file_at(path, FILE)
    is_array = any_file(file, (), lambda file: start_text(file, EXPECTED).startswith("["))
    return file.name.endswith(FILE) and is_array


def write(responses: Iterable[Response], directory: Path, stages: frozenset[str], *_: object) -> Path:
    """Write one answer per line ("" if failed or unanswered), with the first ``DEPTH`` ids of the ranking."""
    members = (to_json_bytes(_record(response, "rankings" in stages)) for response in responses)
    return write_members(directory / FILE, members, b"[]")


def _record(response: Response, ranked: bool) -> dict[str, Any]:
    text = response.answer.text if response.answer else ""
    record = {"utterance_id": str(response.id.conversation), "answer": text}
    if not ranked:
        return record
    hits = response.ranking.hits[:DEPTH] if response.ranking else ()
    return {**record, "passages": [hit.id for hit in hits]}
