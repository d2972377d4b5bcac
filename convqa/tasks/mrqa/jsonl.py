"""Read the files of the MRQA 2019 shared task: JSON lines, plain or gzip, with a context and its questions per line.

The format: https://github.com/mrqa/MRQA-Shared-Task-2019#mrqa-format.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from convqa.errors import InputError
from convqa.metrics.squad import normalise
from convqa.tasks.files import read_values
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import Record, read_as

EXPECTED = "MRQA's JSON lines: {context, qas: [{qid, question, answers, detected_answers: [{text, char_spans}]}]}"
_ADVICE = f"Expected: {EXPECTED}."


class _Detected(Record):
    text: str
    char_spans: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


class _Question(Record):
    qid: str = Field(min_length=1)
    question: str
    answers: list[str] = []  # may be missing in input
    detected_answers: list[_Detected] = []


class _Line(Record):
    context: str
    qas: list[_Question]


def read_jsonl(path: Path) -> Iterator[Context]:
    """Yield the contexts of a file. The file's inclusive spans become half-open, without repetitions.

    A span must have the text of its answer after SQuAD's normalisation (lower case, no punctuation, no articles), by
    which the task detected it, and without blanks. Others are left out, since predictions and scores do not depend on
    spans.
    """
    seen: set[str] = set()
    empty = True
    for position, value in read_values(path, EXPECTED, array=False, strict=True):
        where = f"{path}: {position}"
        if isinstance(value, dict) and "header" in value:
            if position != "line 1":
                raise InputError(f"{where}: a header may only be on the first line. {_ADVICE}")
            continue
        empty = False
        line = read_as(_Line, value, where, _ADVICE)
        yield Context(line.context, tuple(_questions(line, where, seen)))
    if empty:
        raise InputError(f"{path}: has no contexts; expected {EXPECTED}.")


def _questions(line: _Line, where: str, seen: set[str]) -> Iterator[Question]:
    for index, question in enumerate(line.qas):
        field = f"{where}: qas[{index}]"
        if question.qid in seen:
            raise InputError(f"{field}.qid: {question.qid!r} is also the qid of an earlier question.")
        seen.add(question.qid)
        spans = dict.fromkeys(
            span
            for number, answer in enumerate(question.detected_answers)
            for span in _spans(answer, line.context, f"{field}.detected_answers[{number}]")
        )
        yield Question(question.qid, question.question, tuple(question.answers), tuple(spans))


def _spans(answer: _Detected, context: str, field: str) -> Iterator[tuple[int, int]]:
    for number, (first, last) in enumerate(answer.char_spans):
        if not 0 <= first <= last < len(context):
            raise InputError(
                f"{field}.char_spans[{number}]: expected first and last character in the context of {len(context)}, "
                f"got [{first}, {last}]."
            )
        if _same(context[first : last + 1], answer.text):
            yield first, last + 1


def _same(span: str, text: str) -> bool:
    return span == text or normalise(span).replace(" ", "") == normalise(text).replace(" ", "")
