"""Every format error of a run.json at once, before it is uploaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from convqa.errors import InputError
from convqa.tasks.base import Problem, id_problems
from convqa.tasks.qrecc import input, run
from convqa.tasks.qrecc.schema import (
    AnswerScore,
    Citations,
    ConversationNo,
    Passages,
    Text,
    TurnNo,
    label,
    read_array,
    truncated,
    warn_of_unknown,
)
from convqa.validation import explain, shorten


class Evidence(TypedDict):
    """The first citation in the form of SCAI-QReCC-22; without citations, ``{}``."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
    passage_id: NotRequired[Text]
    text: NotRequired[Text]


class UploadRecord(TypedDict):
    """A record of run.json as an upload wants it: nothing null, whole numbers."""

    Conversation_no: ConversationNo
    Turn_no: TurnNo
    Model_rewrite: NotRequired[Text]
    Model_passages: NotRequired[Passages]
    Model_answer: NotRequired[Text]
    Model_evidence: NotRequired[Evidence]
    Model_citations: NotRequired[Citations]
    Model_answer_score: NotRequired[AnswerScore]


_UPLOADS: TypeAdapter[Any] = TypeAdapter(UploadRecord)
# A turn that failed before it was decided has no score in a run that has scores.
_FIELDS = tuple(
    name for name in UploadRecord.__annotations__ if name.startswith("Model_") and name != "Model_answer_score"
)


def check(run_path: Path, input_path: Path) -> list[Problem]:
    """All problems of a run (a directory or the file) that answers the questions at ``input_path``.

    :raises InputError: if the questions themselves cannot be read.
    """
    file = run_path / run.FILE if run_path.is_dir() else run_path
    wanted = [turn.id for conversation in input.read(input_path) for turn in conversation.turns]
    try:
        records = read_array(file, run.WANTED)
    except InputError as error:
        return [Problem(str(file), "", str(error).removeprefix(f"{file}: "))]
    problems = [
        Problem(str(file), label(records, index), message)
        for index, record in enumerate(records)
        for message in _record_errors(record)
    ]
    good = [record for record in records if isinstance(record, Mapping)]
    warn_of_unknown(file, good, frozenset(UploadRecord.__annotations__))
    whole = [*_turn_errors(good, [turn.to_json() for turn in wanted]), *_field_errors(good)]
    return problems + [Problem(str(file), "", message) for message in whole]


def _record_errors(record: Any) -> Iterator[str]:
    try:
        _UPLOADS.validate_python(record)
    except ValidationError as error:
        for field, message in explain(error):
            yield f"{field}: {message}" if field else message
        return
    known = record.get("Model_passages")
    for name, citation in _citations(record):
        if known is not None and citation["passage_id"] not in known:
            yield f"{name}.passage_id: found {shorten(citation['passage_id'])}; wanted an id of Model_passages"
        yield from (f"{name}: {message}" for message in _offset_errors(citation))
        if "sentence" in citation and citation["sentence"] not in record.get("Model_answer", ""):
            yield f"{name}.sentence: found {shorten(citation['sentence'])}; wanted a sentence of Model_answer"


def _citations(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    evidence = record.get("Model_evidence", {})
    if evidence:
        yield "Model_evidence", {"passage_id": "", "text": "", **evidence}
    for index, citation in enumerate(record.get("Model_citations", [])):
        yield f"Model_citations[{index}]", citation


def _offset_errors(citation: Mapping[str, Any]) -> Iterator[str]:
    start, end = citation.get("start"), citation.get("end")
    if (start is None) != (end is None):
        yield f"found start {start} and end {end}; wanted both or neither"
    elif start is not None and end is not None:
        if start > end:
            yield f"found start {start} and end {end}; wanted start <= end"
        elif citation["text"] and len(citation["text"]) != end - start:
            yield f"found a text of {len(citation['text'])} characters; wanted the {end - start} of [{start}, {end})"


def _turn_errors(records: Sequence[Mapping[str, Any]], wanted: Sequence[list[Any]]) -> Iterator[str]:
    """Missing, extra and repeated turns. Numbers are compared as text first, so that a wrong type is said once."""
    found = Counter(_key(record.get("Conversation_no"), record.get("Turn_no")) for record in records)
    asked = {_key(*turn): turn for turn in wanted}
    yield from id_problems("turns of the input are missing", [key for key in asked if key not in found], len(asked))
    yield from id_problems("turns are not in the input", [key for key in found if key not in asked], len(found))
    yield from id_problems("turns occur more than once", [key for key, count in found.items() if count > 1], len(found))
    retyped = [
        key
        for record in records
        if (key := _key(record.get("Conversation_no"), record.get("Turn_no"))) in asked
        and type(record["Conversation_no"]) is not type(asked[key][0])
    ]
    yield from id_problems("turns have a Conversation_no of another type than the input", retyped, len(records))


def _key(conversation: Any, number: Any) -> str:
    return f"{truncated(conversation)}_{truncated(number)}"


def _field_errors(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Fields that some turns have and others lack: the official MRR leaves out turns without Model_passages."""
    for name in _FIELDS:
        lacking = [_key(r.get("Conversation_no"), r.get("Turn_no")) for r in records if name not in r]
        if len(lacking) < len(records):
            yield from id_problems(f"turns lack {name}, which others have", lacking, len(records))
