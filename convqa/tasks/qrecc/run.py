"""run.json: written whole or not at all, and read back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from convqa.domain import Answer, Citation, Passage, Ranking, Response, TurnId
from convqa.files import log, to_json_bytes, whole_file
from convqa.tasks.qrecc.records import RUNS, check_spellings, read_records, turn_id, turn_key

FILE = "run.json"
WANTED = "a JSON array of {Conversation_no, Turn_no, Model_rewrite, Model_passages: {id: score}, Model_answer}"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run says, by turn (``conversation_turn``, the official key). A turn without the field is not there."""

    path: Path
    turns: tuple[TurnId, ...]
    rewrites: Mapping[str, str]
    passages: Mapping[str, Mapping[str, float]]
    answers: Mapping[str, str]


def read(path: Path) -> Run:
    """run.json, or the one in a directory. Of turns that occur twice the last value counts, as officially.

    :raises InputError: where the official script would stop or crash.
    """
    file = path / FILE if path.is_dir() else path
    records = read_records(file, RUNS, WANTED)
    turns = {turn_id(record): record for record in records}
    check_spellings(file, list(turns))
    if len(turns) < len(records):
        log.warning("%s: %d turns occur again; the last one counts", file, len(records) - len(turns))
    parts: dict[str, dict[str, Any]] = {"Model_rewrite": {}, "Model_passages": {}, "Model_answer": {}}
    for record in records:
        for name, values in parts.items():
            if record.get(name) is not None:
                values[str(turn_id(record))] = record[name]
    return Run(file, tuple(turns), parts["Model_rewrite"], parts["Model_passages"], parts["Model_answer"])


def write(responses: Iterable[Response], directory: Path, stages: frozenset[str]) -> Path:
    """Stream the responses into DIRECTORY/run.json, one record a line; returns its path.

    :param stages: of rewrites, rankings and answers, the ones that the pipeline makes: the others' fields are left
        out for all turns alike. A turn that failed in a stage has ``""`` or ``{}`` there, so that it counts 0.
    :raises StorageFull: if it cannot be written; no partial file is left.
    """
    path = directory / FILE
    with whole_file(path) as stream:
        separator = b"[\n"
        for response in responses:
            stream.write(separator + to_json_bytes(record(response, stages)))
            separator = b",\n"
        stream.write(b"[]\n" if separator == b"[\n" else b"\n]\n")
    return path


def record(response: Response, stages: frozenset[str]) -> dict[str, Any]:
    """One turn as run.json has it."""
    data = turn_key(response.id)
    if "rewrites" in stages:
        data["Model_rewrite"] = response.rewrite.text if response.rewrite else ""
    if "rankings" in stages:
        # 32-bit floats are written in their shortest form that reads back as the same 32-bit float.
        data["Model_passages"] = {hit.id: numpy.float32(hit.score) for hit in _ranking(response).hits}
    if "answers" in stages:
        answer = response.answer or Answer("none", "")
        citations = list(_citations(answer, _ranking(response)))
        data["Model_answer"] = answer.text
        data["Model_evidence"] = {name: citations[0][name] for name in ("passage_id", "text")} if citations else {}
        data["Model_citations"] = citations
    return data


def _ranking(response: Response) -> Ranking:
    return response.ranking or Ranking()


def _citations(answer: Answer, ranking: Ranking) -> Iterator[dict[str, Any]]:
    passages = {hit.id: hit.passage for hit in ranking.hits if hit.passage is not None}
    for sentence in answer.sentences:
        for citation in sentence.citations:
            yield {
                "passage_id": citation.passage_id,
                "start": citation.start,
                "end": citation.end,
                "text": _cited_text(citation, passages.get(citation.passage_id)),
                "sentence": sentence.text,
            }


def _cited_text(citation: Citation, passage: Passage | None) -> str:
    """The cited span, or the whole passage where the citation has no offsets; empty if the passage is not at hand."""
    if passage is None:
        return ""
    return passage.text[slice(citation.start, citation.end)]
