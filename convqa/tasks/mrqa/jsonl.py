"""Read the files of the MRQA 2019 shared task: JSON lines, plain or gzip, with a context and its questions per line.

The format: https://github.com/mrqa/MRQA-Shared-Task-2019#mrqa-format.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from convqa.errors import InputError
from convqa.files import parse_line
from convqa.metrics.squad import normalise
from convqa.tasks.files import read_lines
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import Record, read_as

EXPECTED = "MRQA's JSON lines: {context, qas: [{qid, question, answers, detected_answers: [{text, char_spans}]}]}"
_ADVICE = f"Expected: {EXPECTED}."


class _Line(Record):
    context: str
    qas: list[Any]


class _Question(Record):
    qid: str = Field(min_length=1)
    question: str
    answers: list[str] = []  # may be missing in input
    detected_answers: list[Any] = []


class _Detected(Record):
    text: str
    char_spans: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


def read_jsonl(path: Path) -> Iterator[Context]:
    """Yield the contexts of a file. The file's inclusive spans become half-open, without repetitions.

    A span must have the text of its answer after SQuAD's normalisation (lower case, no punctuation, no articles), by
    which the task detected it, and without blanks. Others are left out, since predictions and scores do not depend on
    spans.
    """
    seen: set[str] = set()
    empty = True
    for number, line in read_lines(path, EXPECTED):
        where = f"{path}: line {number}"
        value = _json(line, where, number == 1)
        if isinstance(value, dict) and "header" in value:
            if number > 1:
                raise InputError(f"{where}: a header may only be on the first line. {_ADVICE}")
            continue
        empty = False
        yield _context(read_as(_Line, value, where, _ADVICE), where, seen)
    if empty:
        raise InputError(f"{path}: has no contexts; expected {EXPECTED}.")


def _json(line: bytes, where: str, first: bool) -> Any:
    if not line.strip():
        raise InputError(f"{where}: is blank. {_ADVICE}")
    value, replaced = parse_line(line, where, _ADVICE, first)
    if replaced:
        raise InputError(f"{where}: has {replaced} lone surrogates. {_ADVICE}")
    return value


def _context(line: _Line, where: str, seen: set[str]) -> Context:
    questions = []
    for index, item in enumerate(line.qas):
        position = f"{where}: qas[{index}]"
        record = read_as(_Question, item, position, _ADVICE)
        if record.qid in seen:
            raise InputError(f"{position}: qid: {record.qid!r} is also the qid of an earlier question.")
        seen.add(record.qid)
        spans = (
            span
            for number, answer in enumerate(record.detected_answers)
            for span in _spans(answer, line.context, f"{position}.detected_answers[{number}]")
        )
        questions.append(Question(record.qid, record.question, tuple(record.answers), tuple(dict.fromkeys(spans))))
    return Context(line.context, tuple(questions))


def _spans(answer: Any, context: str, where: str) -> Iterator[tuple[int, int]]:
    detected = read_as(_Detected, answer, where, _ADVICE)
    for number, (first, last) in enumerate(detected.char_spans):
        if not 0 <= first <= last < len(context):
            raise InputError(
                f"{where}.char_spans[{number}]: expected first and last character in the context of {len(context)}, "
                f"got [{first}, {last}]."
            )
        if _same(context[first : last + 1], detected.text):
            yield first, last + 1


def _same(span: str, text: str) -> bool:
    return span == text or normalise(span).replace(" ", "") == normalise(text).replace(" ", "")
