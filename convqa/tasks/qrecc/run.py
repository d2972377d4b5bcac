"""run.json: written whole or not at all, and read back for scoring."""

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
WANTED = "a JSON array of {Conversation_no, Turn_no, Model_rewrite, Model_passages: {id: score}, Model_answer}"


_OURS = ("Model_citations", "Model_answer_score")
_READ = ("Model_rewrite", "Model_passages", "Model_answer", *_OURS)


class Quote(NamedTuple):
    """A citation of an answer's sentence; None where the file does not say of which (``Model_evidence``)."""

    cited: Cited
    sentence: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """The records of a run, by turn (``conversation_turn``, the official key). A turn without the field is not there.

    ``citations`` are those of ``Model_citations``; of a run that has none, ``Model_evidence``. ``scores`` are how well
    the turns' passages answer, 0 to 1. What cannot be used is among the ``faults`` alone, by turn and field.
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
    """run.json, or the one in a directory. Of turns that occur twice the last value counts, as officially.

    :raises InputError: for what is no JSON array, and for a record that names no turn.
    """
    file = file_at(path, FILE)
    records = read_scored(file, RUNS, WANTED)
    turns = tuple(dict.fromkeys(map(turn_id, records)))
    check_spellings(file, turns)
    if len(turns) < len(records):
        log.warning("%s: %d turns occur again; the last one counts", file, len(records) - len(turns))
    said = {
        (str(turn_id(record)), name): record[name]
        for record in records
        for name in _READ
        if record.get(name) is not None
    }
    faults = {key: value for key, value in said.items() if isinstance(value, Fault)}
    rewrites, passages, answers, citations, scores = (
        {turn: value for (turn, name), value in said.items() if name == wanted and (turn, name) not in faults}
        for wanted in _READ
    )
    for name in _OURS:
        if strange := sum(name == field for _, field in faults):
            log.warning("%s: ignored %d %s in another form than convqa's", file, strange, name)
    fields = operator.itemgetter("passage_id", "start", "end", "text")
    quotes_of: dict[str, Sequence[Quote]] = {
        turn: tuple(Quote(Cited(*fields(cited)), cited["sentence"]) for cited in found)
        for turn, found in citations.items()
    }
    return Run(file, turns, rewrites, passages, answers, quotes_of or _evidence(file, records), scores, faults)


def _evidence(file: Path, records: Iterable[Mapping[str, Any]]) -> dict[str, Sequence[Quote]]:
    """``Model_evidence`` as a citation; what others write there in another form is passed over, with one warning."""
    found: dict[str, Sequence[Quote]] = {}
    strange = 0
    for record in records:
        evidence = record.get("Model_evidence")
        if evidence == {}:
            found[str(turn_id(record))] = ()
        elif isinstance(evidence, dict) and all(isinstance(evidence.get(name), str) for name in ("passage_id", "text")):
            found[str(turn_id(record))] = (Quote(Cited(evidence["passage_id"], None, None, evidence["text"]), None),)
        else:
            strange += evidence is not None
    if strange:
        log.warning("%s: ignored %d Model_evidence that are no {passage_id, text}", file, strange)
    return found


def write(responses: Iterable[Response], directory: Path, stages: frozenset[str], *_: object) -> Path:
    """One record a line. A turn that failed in a stage has ``""`` or ``{}`` there, so that it counts 0."""
    return write_members(directory / FILE, (to_json_bytes(record(one, stages)) for one in responses), b"[]")


def record(response: Response, stages: frozenset[str]) -> dict[str, Any]:
    """One turn as run.json has it."""
    import numpy

    data, ranking = turn_key(response.id), response.ranking or Ranking()
    if "rewrites" in stages:
        data["Model_rewrite"] = response.rewrite.text if response.rewrite else ""
    if "rankings" in stages:
        # 32-bit floats are written in their shortest form that reads back as the same 32-bit float.
        data["Model_passages"] = {hit.id: numpy.float32(hit.score) for hit in ranking.hits}
    if "answers" in stages:
        answer = response.answer or Answer("none", "")
        data |= evidence_fields(answer, quotes(answer, ranking))
    return data
