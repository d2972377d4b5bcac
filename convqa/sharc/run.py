"""Write predictions.json, an array of {utterance_id, answer}, check it, and read it back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import to_json_bytes
from convqa.sharc.input import read_records, source
from convqa.tasks.files import UnicodeText, any_file, file_at, is_array, read_official_array, write_members
from convqa.tasks.records import Problems, id_problems, mistakes
from convqa.validation import Record

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
class ShARCRun:
    """A run's answers by utterance, and the ids of its ranked passages, best first, if it has rankings."""

    path: Path
    answers: Mapping[str, str]
    passages: Mapping[str, Sequence[str]]


def read(path: Path) -> ShARCRun:
    """Read predictions.json, or the one in a directory."""
    file = file_at(path, FILE)
    records = read_official_array(file, EXPECTED)
    for position, fault in _faults(records):
        raise InputError(f"{file}: {position}: {fault}.")
    answers = {record["utterance_id"]: record["answer"] for record in records}
    passages = {record["utterance_id"]: record["passages"] for record in records if "passages" in record}
    return ShARCRun(file, answers, passages)


def problems(input_path: Path, file: Path) -> Problems:
    """Yield (record or "" for the file, message) for a run over the utterances at ``input_path``."""
    asked = {record.utterance_id: None for _, record in read_records(source(input_path))}
    records = read_official_array(file, EXPECTED)
    yield from _faults(records)
    # The faults name repeated ids.
    answered = dict.fromkeys(str(record.get("utterance_id")) for record in records if isinstance(record, dict))
    yield from id_problems("utterances", asked, answered)


def _faults(records: Sequence[object]) -> Problems:
    """Yield (record, message) for all that prevents a record from being scored."""
    indexes: dict[str, int] = {}
    for index, record in enumerate(records):
        position = f"record {index}"
        faults = mistakes(Prediction.model_validate, record)
        yield from ((position, fault) for fault in faults)
        if isinstance(record, dict) and not faults:
            id = record["utterance_id"]
            if indexes.setdefault(id, index) != index:
                yield position, f"utterance_id: {id!r} is also that of record {indexes[id]}"


def recognize(path: Path) -> bool:
    """Whether it is or holds a predictions.json with an array; MRQA's runs have the same name."""
    file = file_at(path, FILE)
    return file.name.endswith(FILE) and any_file(file, (), lambda file: is_array(file, EXPECTED))


def write(
    responses: Iterable[Response],
    directory: Path,
    stages: frozenset[str],
    *_: object,
) -> Path:
    """Write one answer per line ("" if failed or unanswered), with the first ``DEPTH`` ids of the ranking."""
    members = (to_json_bytes(_record(response, "rankings" in stages)) for response in responses)
    return write_members(directory / FILE, members, b"[]")


def _record(response: Response, has_ranking: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "utterance_id": str(response.id.conversation),
        "answer": response.answer.text if response.answer else "",
    }
    if has_ranking:
        hits = response.ranking.hits[:DEPTH] if response.ranking else ()
        record["passages"] = [hit.id for hit in hits]
    return record
