"""Check a run.json: report all format errors at once, before the upload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from convqa.tasks.base import id_problems, some_ids
from convqa.tasks.files import UnicodeText
from convqa.tasks.qrecc import input, run, schema
from convqa.validation import explain, shorten


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
_FIELDS = tuple(
    name for name in UploadRecord.__annotations__ if name.startswith("Model_") and name != "Model_answer_score"
)


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield (record or "" for the file, message) for a run over the questions at ``input_path``."""
    asked = [turn.id.to_json() for conversation in input.read(input_path) for turn in conversation.turns]
    records = schema.read_official(file, run.EXPECTED)
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
    for name in _FIELDS:
        missing = [_key(record) for record in records if name not in record]
        if len(missing) < len(records):
            yield from some_ids(f"turns lack {name}, which others have", missing, len(records))


def _key(record: Mapping[str, Any]) -> str:
    return f"{schema.truncated(record.get('Conversation_no'))}_{schema.truncated(record.get('Turn_no'))}"
