"""The records of QReCC's JSON files, validated by pydantic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import (
    TypedDict,
)  # pydantic requires this one below Python 3.12

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import log
from convqa.tasks.files import UnicodeText, refuse_surrogates
from convqa.validation import explain

_FLOAT32_END = 3.4028235677973366e38  # rounds to infinity as a 32-bit float


def truncated(value: Any) -> Any:
    """Truncate a float, as the official script does by formatting numbers with %d."""
    return int(value) if type(value) is float and math.isfinite(value) else value


def _alternating(context: list[str]) -> list[str]:
    if len(context) % 2:
        raise PydanticCustomError(
            "context",
            "expected question, answer, question, answer: an even number of strings",
        )
    return context


def _named(passages: dict[str, float]) -> dict[str, float]:
    if "" in passages:
        raise PydanticCustomError("passage_id", "expected passage ids that are not empty")
    if any(score != score for score in passages.values()):
        raise PydanticCustomError("passage_score", "expected scores without NaN")
    refuse_surrogates("".join(passages))
    return passages


MALFORMED = object()
"""Stands for an unofficial field of a run that has another format than convqa's."""


def _or_malformed(value: object, validate: ValidatorFunctionWrapHandler) -> Any:
    try:
        return validate(value)
    except ValidationError:
        return MALFORMED


_Unofficial = WrapValidator(_or_malformed)
ConversationNo = int | str
TurnNo = Annotated[int, Field(ge=0, lt=2**63)]
ScoredTurnNo = int | Annotated[float, Field(allow_inf_nan=False)]
ScoredConversationNo = ScoredTurnNo | str
Score = Annotated[float, Field(allow_inf_nan=False, gt=-_FLOAT32_END, lt=_FLOAT32_END)]
Passages = Annotated[dict[str, Score], AfterValidator(_named)]
ScoredPassages = Annotated[dict[str, float], AfterValidator(_named)]
Offset = Annotated[int, Field(ge=0)]
AnswerScore = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

STRICT = ConfigDict(strict=True)
_CLOSED = ConfigDict(strict=True, extra="forbid")
_OPEN = ConfigDict(strict=True, extra="allow")


class CitationRecord(TypedDict):
    """A citation, our own extension."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    passage_id: UnicodeText
    start: Offset | None
    end: Offset | None
    text: UnicodeText
    sentence: UnicodeText


Citations = list[CitationRecord]


class EvidenceRecord(TypedDict):
    """The first citation in the format of SCAI-QReCC-22; ``{}`` without citations."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    passage_id: NotRequired[UnicodeText]
    text: NotRequired[UnicodeText]


class QuestionRecord(TypedDict):
    """A record of questions.json."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    Conversation_no: ConversationNo
    Turn_no: TurnNo
    Question: UnicodeText
    Context: NotRequired[Annotated[list[UnicodeText], AfterValidator(_alternating)]]


class TruthRecord(TypedDict):
    """A record of ground-truth.json; other fields are kept for breakdowns."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    Conversation_no: ScoredConversationNo
    Turn_no: ScoredTurnNo
    Truth_rewrite: UnicodeText
    Truth_answer: UnicodeText
    Truth_passages: NotRequired[list[UnicodeText]]


class RunRecord(TypedDict):
    """A record of run.json: the fields of the official script, which skips null rewrites and answers, and others, which
    are ``MALFORMED`` if they have another format.
    """

    __pydantic_config__ = STRICT  # type: ignore[misc]
    Conversation_no: ScoredConversationNo
    Turn_no: ScoredTurnNo
    Model_rewrite: NotRequired[UnicodeText | None]
    Model_passages: NotRequired[ScoredPassages]
    Model_answer: NotRequired[UnicodeText | None]
    Model_evidence: NotRequired[Annotated[EvidenceRecord | None, _Unofficial]]
    Model_citations: NotRequired[Annotated[Citations, _Unofficial]]
    Model_answer_score: NotRequired[Annotated[AnswerScore | None, _Unofficial]]


QUESTIONS: TypeAdapter[Any] = TypeAdapter(QuestionRecord)
TRUTHS: TypeAdapter[Any] = TypeAdapter(TruthRecord)
RUNS: TypeAdapter[Any] = TypeAdapter(RunRecord)


def checked(
    path: Path,
    records: Sequence[Any],
    adapter: TypeAdapter[Any],
) -> list[dict[str, Any]]:
    """Return the records of a file, all of which the adapter must accept.

    :raises InputError: naming record and field, also where the official script would not read the field.
    """
    accepted = []
    for index, record in enumerate(records):
        try:
            accepted.append(adapter.validate_python(record))
        except ValidationError as error:
            field, problem = explain(error)[0]
            message = ": ".join(filter(None, (label(index, record), field, problem)))
            raise InputError(f"{path}: {message}.") from None
    return accepted


def label(index: int, record: Any) -> str:
    """Return a record's name for messages: its index and, if it has one, its turn.

    >>> label(0, {"Conversation_no": 7, "Turn_no": 2})
    'record 0 (turn 7_2)'
    """
    if isinstance(record, Mapping) and {"Conversation_no", "Turn_no"} <= record.keys():
        return f"record {index} (turn {record['Conversation_no']}_{record['Turn_no']})"
    return f"record {index}"


def turn_id(record: Mapping[str, Any]) -> TurnId:
    """Return the turn of a checked record."""
    return TurnId(truncated(record["Conversation_no"]), truncated(record["Turn_no"]))


def turn_key(id: TurnId) -> dict[str, Any]:
    """Return the fields that identify a turn in the task's files."""
    return {"Conversation_no": id.conversation, "Turn_no": id.number}


def warn_of_unknown(
    path: Path,
    records: Sequence[Mapping[str, Any]],
    shape: type,
    others: frozenset[str] = frozenset(),
) -> None:
    """Log one warning that names all fields that are neither of this shape nor among the others."""
    unknown = set().union(*records) - shape.__annotations__.keys() - others
    if unknown:
        log.warning(
            "%s: ignored unknown fields: %s",
            path,
            ", ".join(sorted(map(str, unknown))),
        )
