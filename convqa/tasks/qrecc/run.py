"""Write run.json, and read it back for scoring."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from convqa.domain import Answer, Ranking, Response, TurnId, evidence_fields, quotes
from convqa.files import log, to_json_bytes
from convqa.metrics.citations import Cited
from convqa.tasks.files import file_at, write_members
from convqa.tasks.qrecc.schema import RUNS, Fault, check_spellings, read_scored, turn_id, turn_key

FILE = "run.json"
EXPECTED = "a JSON array of {Conversation_no, Turn_no, Model_rewrite, Model_passages: {id: score}, Model_answer}"

_OURS = ("Model_citations", "Model_answer_score")
_READ = ("Model_rewrite", "Model_passages", "Model_answer", *_OURS)


class Quote(NamedTuple):
    """A citation with its sentence of the answer; None if unknown (``Model_evidence``)."""

    cited: Cited
    sentence: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """The fields of a run by turn (``conversation_turn``, the official key); turns without a field are missing.

    ``citations`` come from ``Model_citations`` or, if the run has none, from ``Model_evidence``. ``scores`` are the
    answer scores, 0 to 1. Malformed values are only in ``faults``, by turn and field.
    """

    path: Path
    turns: tuple[TurnId, ...]
    rewrites: Mapping[str, str]
    passages: Mapping[str, Mapping[str, float]]
    answers: Mapping[str, str]
    citations: Mapping[str, Sequence[Quote]] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    faults: Mapping[tuple[str, str], Fault] = field(default_factory=dict)


def read(path: Path) -> Run:
    """Read run.json, or the one in a directory. The last value of a repeated turn counts, as in the official script."""
    file = file_at(path, FILE)
    records = read_scored(file, RUNS, EXPECTED)
    turns = tuple(dict.fromkeys(map(turn_id, records)))
    check_spellings(file, turns)
    if len(turns) < len(records):
        log.warning("%s: %d repeated turns; the last record counts", file, len(records) - len(turns))
    values = {
        (str(turn_id(record)), name): record[name]
        for record in records
        for name in _READ
        if record.get(name) is not None
    }
    faults = {key: value for key, value in values.items() if isinstance(value, Fault)}
    rewrites, passages, answers, citations, scores = (
        {turn: value for (turn, name), value in values.items() if name == field and (turn, name) not in faults}
        for field in _READ
    )
    for name in _OURS:
        if ignored := sum(name == field for _, field in faults):
            log.warning("%s: ignored %d %s in another format than convqa's", file, ignored, name)
    fields = operator.itemgetter("passage_id", "start", "end", "text")
    quotes_by_turn: dict[str, Sequence[Quote]] = {
        turn: tuple(Quote(Cited(*fields(record)), record["sentence"]) for record in cited)
        for turn, cited in citations.items()
    }
    return Run(file, turns, rewrites, passages, answers, quotes_by_turn or _evidence(file, records), scores, faults)


def _evidence(file: Path, records: Iterable[Mapping[str, Any]]) -> dict[str, Sequence[Quote]]:
    """Read ``Model_evidence`` as citations. Values in another format are ignored with one warning."""
    citations: dict[str, Sequence[Quote]] = {}
    ignored = 0
    for record in records:
        evidence = record.get("Model_evidence")
        if evidence == {}:
            citations[str(turn_id(record))] = ()
        elif isinstance(evidence, dict) and all(isinstance(evidence.get(name), str) for name in ("passage_id", "text")):
            cited = Cited(evidence["passage_id"], None, None, evidence["text"])
            citations[str(turn_id(record))] = (Quote(cited, None),)
        else:
            ignored += evidence is not None
    if ignored:
        log.warning("%s: ignored %d Model_evidence that are not {passage_id, text}", file, ignored)
    return citations


def write(responses: Iterable[Response], directory: Path, stages: frozenset[str], *_: object) -> Path:
    """Write one record per line. A turn that failed in a stage has ``""`` or ``{}`` there, so that it counts 0."""
    records = (to_json_bytes(record(response, stages)) for response in responses)
    return write_members(directory / FILE, records, b"[]")


def record(response: Response, stages: frozenset[str]) -> dict[str, Any]:
    """Return the record of one turn."""
    import numpy

    data, ranking = turn_key(response.id), response.ranking or Ranking()
    if "rewrites" in stages:
        data["Model_rewrite"] = response.rewrite.text if response.rewrite else ""
    if "rankings" in stages:
        # numpy's float32 is written in the shortest form that reads back as the same number.
        data["Model_passages"] = {hit.id: numpy.float32(hit.score) for hit in ranking.hits}
    if "answers" in stages:
        answer = response.answer or Answer("none", "")
        data |= evidence_fields(answer, quotes(answer, ranking))
    return data
