"""Write run.json, check it before the upload, and read it back for scoring."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from convqa.domain import Answer, Ranking, Response, TurnId, quotes
from convqa.errors import counted
from convqa.files import log, to_json_bytes
from convqa.tasks.files import UnicodeText, file_at, read_official_array, write_members
from convqa.tasks.qrecc import schema
from convqa.tasks.qrecc.input import read as read_questions
from convqa.tasks.qrecc.schema import turn_id, turn_key
from convqa.tasks.records import Problems, id_problems, mistakes, some_ids

FILE = "run.json"
EXPECTED = "a JSON array of {Conversation_no, Turn_no, Model_rewrite, Model_passages: {id: score}, Model_answer}"


class Cited(NamedTuple):
    """A citation. ``text`` is its quote, the whole passage if it has no offsets; ``sentence`` is that of the answer."""

    passage_id: str
    start: int | None
    end: int | None
    text: str
    sentence: str | None = None


@dataclass(frozen=True, slots=True)
class QReCCRun:
    """The fields of a run by turn (``conversation_turn``, the official key); turns without a field are missing.

    ``citations`` come from ``Model_citations`` or, if the run has none, from ``Model_evidence``, which has no
    sentences. ``scores`` are the answer scores, 0 to 1.
    """

    path: Path
    turns: tuple[TurnId, ...]
    rewrites: Mapping[str, str]
    passages: Mapping[str, Mapping[str, float]]
    answers: Mapping[str, str]
    citations: Mapping[str, Sequence[Cited]]
    scores: Mapping[str, float]


def read(path: Path) -> QReCCRun:
    """Read run.json, or the one in a directory. The last value of a repeated turn counts, as in the official script."""
    file = file_at(path, FILE)
    records = schema.checked(file, read_official_array(file, EXPECTED), schema.RUNS)
    turns = tuple(dict.fromkeys(map(turn_id, records)))
    if repeated := len(records) - len(turns):
        log.warning("%s: %s; the last record counts", file, counted(repeated, "repeated turns"))
    values: dict[str, dict[str, Any]] = defaultdict(dict)
    ignored = Counter[str]()
    for record in records:
        turn = str(turn_id(record))
        for name, value in record.items():
            if value is schema.MALFORMED:
                ignored[name] += 1
            elif value is not None:
                values[name][turn] = value
    for name, count in ignored.items():
        log.warning("%s: ignored %d %s in another format than convqa's", file, count, name)
    citations = {turn: [Cited(**cited) for cited in records] for turn, records in values["Model_citations"].items()}
    if not citations:
        for turn, evidence in values["Model_evidence"].items():
            complete = evidence.keys() == {"passage_id", "text"}
            citations[turn] = [Cited(start=None, end=None, **evidence)] if complete else []
    return QReCCRun(
        file,
        turns,
        values["Model_rewrite"],
        values["Model_passages"],
        values["Model_answer"],
        citations,
        values["Model_answer_score"],
    )


def write(
    responses: Iterable[Response],
    directory: Path,
    stages: frozenset[str],
    *_: object,
) -> Path:
    """Write one record per line. A turn that failed in a stage has ``""`` or ``{}`` there, so that it counts 0."""
    records = (to_json_bytes(record(response, stages)) for response in responses)
    return write_members(directory / FILE, records, b"[]")


def record(response: Response, stages: frozenset[str]) -> dict[str, Any]:
    """Return the record of one turn."""
    import numpy

    fields = turn_key(response.id)
    ranking = response.ranking or Ranking()
    if "rewrites" in stages:
        fields["Model_rewrite"] = response.rewrite.text if response.rewrite else ""
    if "rankings" in stages:
        # numpy's float32 is written in the shortest form that reads back as the same number.
        fields["Model_passages"] = {hit.id: numpy.float32(hit.score) for hit in ranking.hits}
    if "answers" in stages:
        fields |= _answer_fields(response.answer or Answer("none", ""), ranking)
    return fields


def _answer_fields(answer: Answer, ranking: Ranking) -> dict[str, Any]:
    """Return the official Model_answer and Model_evidence (the first citation, as in 2022), and fields of our own:
    Model_citations (all citations) and, if a no-answer decision was made, Model_answer_score.
    """
    quote_of = quotes(answer, ranking)
    citations = []
    for sentence in answer.sentences if answer.text else ():
        for citation in sentence.citations:
            cited = Cited(citation.passage_id, citation.start, citation.end, quote_of[citation], sentence.text)
            citations.append(cited._asdict())
    evidence = {}
    if citations:
        evidence = {name: citations[0][name] for name in ("passage_id", "text")}
    fields: dict[str, Any] = {
        "Model_answer": answer.text,
        "Model_evidence": evidence,
        "Model_citations": citations,
    }
    if answer.score is not None:
        fields["Model_answer_score"] = answer.score
    return fields


class UploadRecord(TypedDict):
    """A record of run.json as an upload requires it: no null values, whole numbers."""

    __pydantic_config__ = schema.STRICT  # type: ignore[misc]
    Conversation_no: schema.ConversationNo
    Turn_no: schema.TurnNo
    Model_rewrite: NotRequired[UnicodeText]
    Model_passages: NotRequired[schema.Passages]
    Model_answer: NotRequired[UnicodeText]
    Model_evidence: NotRequired[schema.EvidenceRecord]
    Model_citations: NotRequired[schema.Citations]
    Model_answer_score: NotRequired[schema.AnswerScore]


_UPLOADS: TypeAdapter[Any] = TypeAdapter(UploadRecord)


def problems(input_path: Path, file: Path) -> Problems:
    """Yield (record or "" for the file, message) for a run over the questions at ``input_path``."""
    turns = [turn for conversation in read_questions(input_path) for turn in conversation.turns]
    asked = dict.fromkeys(_key(schema.turn_key(turn.id)) for turn in turns)
    records = read_official_array(file, EXPECTED)
    for index, record in enumerate(records):
        faults = mistakes(_UPLOADS.validate_python, record)
        yield from ((schema.label(index, record), fault) for fault in faults)
    objects = [record for record in records if isinstance(record, Mapping)]
    schema.warn_of_unknown(file, objects, UploadRecord)
    yield from id_problems("turns", asked, map(_key, objects))
    # The official MRR leaves out turns without Model_passages. A turn that failed before the decider has no score, even
    # in a run with scores.
    for name in UploadRecord.__annotations__:
        missing = [_key(record) for record in objects if name not in record]
        if name.startswith("Model_") and name != "Model_answer_score" and len(missing) < len(objects):
            yield from some_ids(f"turns lack {name}, which others have", missing, len(objects))


def _key(record: Mapping[str, Any]) -> str:
    """Return a turn as text, in which 1 and "1" differ."""
    return f"{schema.truncated(record.get('Conversation_no'))!r}_{schema.truncated(record.get('Turn_no'))}"
