"""The files of the MRQA 2019 shared task: JSON lines, plain or gzip; a context with its questions is a line.

The form: https://github.com/mrqa/MRQA-Shared-Task-2019#mrqa-format.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from convqa.errors import InputError
from convqa.files import log, parse_line
from convqa.metrics.squad import normalise
from convqa.tasks.files import read_lines
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import Record, read_as, shorten

WANTED = "MRQA's JSON lines: {context, qas: [{qid, question, answers, detected_answers: [{text, char_spans}]}]}"
_ADVICE = f"Wanted: {WANTED}."


class _Detected(Record):
    text: str
    char_spans: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


class _Question(Record):
    qid: str = Field(min_length=1)
    question: str
    answers: list[str] = []  # what is to be predicted may lack both
    detected_answers: list[_Detected] = []


class _Line(Record):
    context: str
    qas: list[_Question]


def read_jsonl(path: Path) -> Iterator[Context]:
    """The contexts of a file in order, one at a time; inclusive spans become half-open, repeated ones are one.

    What detected answers say must stand at their spans: the same after SQuAD's normalisation (lower case, no
    punctuation, no articles), which is how the task found them, and without regard to blanks. Other spans are left out,
    with one warning: predictions and their scores do not rest on them.

    :raises InputError: naming file and line; also for gzip that is damaged, and a file without any context.
    """
    seen: set[str] = set()
    shifted: list[str] = []
    empty = True
    for number, line in read_lines(path, WANTED):
        where = f"{path}: line {number}"
        found = _json(line, where, number == 1)
        if isinstance(found, dict) and "header" in found:
            if number == 1:
                continue
            raise InputError(f"{where}: a header stands on the first line only. {_ADVICE}")
        yield _context(found, where, seen, shifted)
        empty = False
    if shifted:
        log.warning("%s: left out %d spans with another text. The first: %s", path, len(shifted), shifted[0])
    if empty:
        raise InputError(f"{path}: there is no context in it; wanted {WANTED}.")


def _json(line: bytes, where: str, first: bool) -> Any:
    if not line.strip():
        raise InputError(f"{where}: is blank. {_ADVICE}")
    value, mended = parse_line(line, where, _ADVICE, first)
    if mended:
        raise InputError(f"{where}: has {mended} half surrogates. {_ADVICE}")
    return value


def _context(found: Any, where: str, seen: set[str], shifted: list[str]) -> Context:
    line = read_as(_Line, found, where, _ADVICE)
    questions = []
    for index, record in enumerate(line.qas):
        place = f"{where}: qas[{index}]"
        if record.qid in seen:
            raise InputError(f"{place}: qid: {record.qid!r} names an earlier question too.")
        seen.add(record.qid)
        detected = (
            _spans(answer, line.context, f"{place}.detected_answers[{number}]", shifted)
            for number, answer in enumerate(record.detected_answers)
        )
        spans = tuple(dict.fromkeys(chain.from_iterable(detected)))
        questions.append(Question(record.qid, record.question, tuple(record.answers), spans))
    return Context(line.context, tuple(questions))


def _spans(detected: _Detected, context: str, where: str, shifted: list[str]) -> Iterator[tuple[int, int]]:
    for number, (first, last) in enumerate(detected.char_spans):
        place = f"{where}.char_spans[{number}]"
        if not 0 <= first <= last < len(context):
            wanted = f"first and last character in the context, which has {len(context)}"
            raise InputError(f"{place}: found [{first}, {last}]; wanted {wanted}.")
        there = context[first : last + 1]
        if _same(there, detected.text):
            yield first, last + 1
        else:
            shifted.append(f"{place}: the context has {shorten(there)} there; wanted {shorten(detected.text)}.")


def _same(one: str, other: str) -> bool:
    return one == other or normalise(one).replace(" ", "") == normalise(other).replace(" ", "")
