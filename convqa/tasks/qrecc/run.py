"""Write run.json, check it before the upload, and read it back for scoring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from convqa.domain import Answer, Citation, Ranking, Response, TurnId, quotes
from convqa.files import log, to_json_bytes
from convqa.metrics.citations import Cited
from convqa.tasks.records import id_problems, some_ids
from convqa.tasks.files import UnicodeText, file_at, write_members
from convqa.tasks.qrecc import schema
from convqa.tasks.qrecc.input import read as read_questions
from convqa.tasks.qrecc.schema import RUNS, Fault, check_spellings, read_scored, turn_id, turn_key
from convqa.validation import explain, shorten

FILE = "run.json"
EXPECTED = "a JSON array of {Conversation_no, Turn_no, Model_rewrite, Model_passages: {id: score}, Model_answer}"

_OURS = ("Model_citations", "Model_answer_score")
_READ = ("Model_rewrite", "Model_passages", "Model_answer", *_OURS)


@dataclass(frozen=True, slots=True)
class Run:
    """The fields of a run by turn (``conversation_turn``, the official key); turns without a field are missing.

    ``citations`` come from ``Model_citations`` or, if the run has none, from ``Model_evidence``, which has no
    sentences. ``scores`` are the answer scores, 0 to 1. Malformed values are only in ``faults``, by turn and field.
    """

    path: Path
    turns: tuple[TurnId, ...]
    rewrites: Mapping[str, str]
    passages: Mapping[str, Mapping[str, float]]
    answers: Mapping[str, str]
    citations: Mapping[str, Sequence[Cited]] = field(default_factory=dict)
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
    cited: dict[str, Sequence[Cited]] = {
        turn: tuple(Cited(**record) for record in records_of_turn) for turn, records_of_turn in citations.items()
    }
    return Run(file, turns, rewrites, passages, answers, cited or _evidence(file, records), scores, faults)


def _evidence(file: Path, records: Iterable[Mapping[str, Any]]) -> dict[str, Sequence[Cited]]:
    """Read ``Model_evidence`` as citations. Values in another format are ignored with one warning."""
    citations: dict[str, Sequence[Cited]] = {}
    ignored = 0
    for record in records:
        evidence = record.get("Model_evidence")
        if evidence == {}:
            citations[str(turn_id(record))] = ()
        elif isinstance(evidence, dict) and all(isinstance(evidence.get(name), str) for name in ("passage_id", "text")):
            citations[str(turn_id(record))] = (Cited(evidence["passage_id"], None, None, evidence["text"]),)
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


def evidence_fields(answer: Answer, quotes: Mapping[Citation, str]) -> dict[str, Any]:
    """Return the official Model_answer and Model_evidence (the first citation, as in 2022), and fields of our own:
    Model_citations (all citations) and, if a no-answer decision was made, Model_answer_score.

    >>> from convqa.domain import Sentence
    >>> cited = Citation("p", 0, 6)
    >>> fields = evidence_fields(Answer.of([Sentence("Goethe did.", (cited,))], "en"), {cited: "Goethe"})
    >>> fields["Model_evidence"]
    {'passage_id': 'p', 'text': 'Goethe'}
    >>> fields["Model_citations"]
    [{'passage_id': 'p', 'start': 0, 'end': 6, 'text': 'Goethe', 'sentence': 'Goethe did.'}]
    """
    citations = [
        {
            "passage_id": citation.passage_id,
            "start": citation.start,
            "end": citation.end,
            "text": quotes[citation],
            "sentence": sentence.text,
        }
        for sentence in answer.sentences
        for citation in sentence.citations
    ]
    fields = {
        "Model_answer": answer.text,
        "Model_evidence": {name: citations[0][name] for name in ("passage_id", "text")} if citations else {},
        "Model_citations": citations,
    }
    return fields if answer.score is None else {**fields, "Model_answer_score": answer.score}


class Evidence(TypedDict):
    """The first citation in the format of SCAI-QReCC-22; ``{}`` without citations."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
    passage_id: NotRequired[UnicodeText]
    text: NotRequired[UnicodeText]


class UploadRecord(TypedDict):
    """A record of run.json as an upload requires it: no null values, whole numbers."""

    Conversation_no: schema.ConversationNo
    Turn_no: schema.TurnNo
    Model_rewrite: NotRequired[UnicodeText]
    Model_passages: NotRequired[schema.Passages]
    Model_answer: NotRequired[UnicodeText]
    Model_evidence: NotRequired[Evidence]
    Model_citations: NotRequired[schema.Citations]
    Model_answer_score: NotRequired[schema.AnswerScore]


_UPLOADS: TypeAdapter[Any] = TypeAdapter(UploadRecord)
# A turn that failed before the decider has no score, even in a run with scores.
_UPLOADED = tuple(
    name for name in UploadRecord.__annotations__ if name.startswith("Model_") and name != "Model_answer_score"
)


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield (record or "" for the file, message) for a run over the questions at ``input_path``."""
    asked = [turn.id.to_json() for conversation in read_questions(input_path) for turn in conversation.turns]
    records = schema.read_official(file, EXPECTED)
    for index, record in enumerate(records):
        yield from ((schema.label(records, index), message) for message in _record_errors(record))
    objects = [record for record in records if isinstance(record, Mapping)]
    schema.warn_of_unknown(file, objects, frozenset(UploadRecord.__annotations__))
    yield from _turn_errors(objects, asked)
    yield from _field_errors(objects)


def _record_errors(record: Any) -> Iterator[str]:
    try:
        _UPLOADS.validate_python(record)
    except ValidationError as error:
        yield from (f"{field}: {message}" if field else message for field, message in explain(error))
        return
    passages = record.get("Model_passages")
    for name, citation in _citations(record):
        if passages is not None and citation["passage_id"] not in passages:
            yield f"{name}.passage_id: expected an id of Model_passages, got {shorten(citation['passage_id'])}"
        yield from (f"{name}: {message}" for message in _offset_errors(citation))
        if "sentence" in citation and citation["sentence"] not in record.get("Model_answer", ""):
            yield f"{name}.sentence: expected a sentence of Model_answer, got {shorten(citation['sentence'])}"


def _citations(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if evidence := record.get("Model_evidence"):
        yield "Model_evidence", {"passage_id": "", "text": "", **evidence}
    for index, citation in enumerate(record.get("Model_citations", [])):
        yield f"Model_citations[{index}]", citation


def _offset_errors(citation: Mapping[str, Any]) -> Iterator[str]:
    start, end = citation.get("start"), citation.get("end")
    if (start is None) != (end is None):
        yield f"expected both start and end, or neither, got start {start} and end {end}"
    elif start is not None and end is not None:
        if start > end:
            yield f"expected start <= end, got start {start} and end {end}"
        elif citation["text"] and len(citation["text"]) != end - start:
            yield f"expected a text of the {end - start} characters of [{start}, {end}), got {len(citation['text'])}"


def _turn_errors(records: Sequence[Mapping[str, Any]], turns: Sequence[list[Any]]) -> Iterator[tuple[str, str]]:
    """Report missing, unknown and repeated turns. Turns are matched as text, so that a wrong type is one problem."""
    counts = Counter(map(_key, records))
    asked = {f"{conversation}_{number}": conversation for conversation, number in turns}
    yield from id_problems("turns", asked, counts)
    yield from some_ids("turns occur more than once", [key for key, count in counts.items() if count > 1], len(counts))
    retyped = [
        key
        for record in records
        if (key := _key(record)) in asked and type(record["Conversation_no"]) is not type(asked[key])
    ]
    yield from some_ids("turns have a Conversation_no of another type than the input", retyped, len(records))


def _field_errors(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Report fields that only some turns have: the official MRR leaves out turns without Model_passages."""
    for name in _UPLOADED:
        missing = [_key(record) for record in records if name not in record]
        if len(missing) < len(records):
            yield from some_ids(f"turns lack {name}, which others have", missing, len(records))


def _key(record: Mapping[str, Any]) -> str:
    return f"{schema.truncated(record.get('Conversation_no'))}_{schema.truncated(record.get('Turn_no'))}"
