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

Skipped = dict[str, list[str]]
"""Kind of a mistake -> the message of each."""


class Lenient:
    """Goes on without what is wrong in files; each file's mistakes are one warning, however often it is read."""

    def __init__(self) -> None:
        self._told: set[Path] = set()

    def tell(self, path: Path, skipped: Skipped) -> None:
        if path not in self._told:
            self._told.add(path)
            counts = ", ".join(f"{len(messages)} {kind}" for kind, messages in skipped.items())
            firsts = " ".join(messages[0] for messages in skipped.values())
            log.warning("%s: went on without %s. The first of each: %s", path, counts, firsts)


class _Line(Record):
    context: str
    qas: list[Any]


class _Question(Record):
    qid: str = Field(min_length=1)
    question: str
    answers: list[str] = []  # what is to be predicted may lack both
    detected_answers: list[Any] = []


class _Detected(Record):
    text: str
    char_spans: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


def read_jsonl(path: Path, lenient: Lenient | None = None, aligned: bool = True) -> Iterator[Context]:
    """The contexts of a file in order, one at a time; inclusive spans become half-open, repeated ones are one.

    What detected answers say must stand at their spans: the same after SQuAD's normalisation (lower case, no
    punctuation, no articles), which is how the task found them, and without regard to blanks.

    :param lenient: go on without what is wrong, and tell it here.
    :param aligned: whether that is looked at; predictions and their scores do not rest on it.
    :raises InputError: naming file and line; also for gzip that is damaged, and a file without any context.
    """
    skipped: Skipped | None = None if lenient is None else {}
    seen: set[str] = set()
    empty = True
    for number, line in read_lines(path, WANTED):
        where = f"{path}: line {number}"
        found = _json(line, where, number == 1, skipped)
        if found is None or (number == 1 and isinstance(found, dict) and "header" in found):
            continue
        context = _context(found, where, seen, skipped, aligned)
        if context is not None:
            empty = False
            yield context
    if lenient is not None and skipped:
        lenient.tell(path, skipped)
    if empty:
        raise InputError(f"{path}: there is no context in it; wanted {WANTED}.")


def _json(line: bytes, where: str, first: bool, skipped: Skipped | None) -> Any | None:
    """The JSON value of a line, or None where there is none."""
    if not line.strip():
        _skip(skipped, "blank lines", InputError(f"{where}: is blank. {_ADVICE}"))
        return None
    try:
        value, mended = parse_line(line, where, _ADVICE, first)
    except InputError as error:
        _skip(skipped, "lines that are no JSON", error)
        return None
    if mended:
        _skip(skipped, "lines with half surrogates", InputError(f"{where}: has {mended} half surrogates. {_ADVICE}"))
    return value


def _context(found: Any, where: str, seen: set[str], skipped: Skipped | None, aligned: bool) -> Context | None:
    try:
        if isinstance(found, dict) and "header" in found:
            raise InputError(f"{where}: a header stands on the first line only. {_ADVICE}")
        line = read_as(_Line, found, where, _ADVICE)
    except InputError as error:
        _skip(skipped, "lines that are no contexts", error)
        return None
    questions = []
    for index, asked in enumerate(line.qas):
        place = f"{where}: qas[{index}]"
        try:
            record = read_as(_Question, asked, place, _ADVICE)
        except InputError as error:
            _skip(skipped, "questions of another form", error)
            continue
        if record.qid in seen:
            again = InputError(f"{place}: qid: {record.qid!r} names an earlier question too.")
            _skip(skipped, "questions whose qid was there before", again)
            continue
        seen.add(record.qid)
        detected = (
            _spans(answer, line.context, f"{place}.detected_answers[{number}]", skipped, aligned)
            for number, answer in enumerate(record.detected_answers)
        )
        spans = tuple(dict.fromkeys(chain.from_iterable(detected)))
        questions.append(Question(record.qid, record.question, tuple(record.answers), spans))
    return Context(line.context, tuple(questions))


def _spans(answer: Any, context: str, where: str, skipped: Skipped | None, aligned: bool) -> Iterator[tuple[int, int]]:
    try:
        detected = read_as(_Detected, answer, where, _ADVICE)
    except InputError as error:
        _skip(skipped, "detected answers of another form", error)
        return
    for number, (first, last) in enumerate(detected.char_spans):
        place = f"{where}.char_spans[{number}]"
        if not 0 <= first <= last < len(context):
            problem = (
                f"found [{first}, {last}]; wanted first and last character in the context, which has {len(context)}"
            )
            _skip(skipped, "spans outside their context", InputError(f"{place}: {problem}."))
        elif aligned and not _same(context[first : last + 1], detected.text):
            problem = f"the context has {shorten(context[first : last + 1])} there; wanted {shorten(detected.text)}"
            _skip(skipped, "spans with another text", InputError(f"{place}: {problem}."))
        else:
            yield first, last + 1


def _same(one: str, other: str) -> bool:
    return one == other or normalise(one).replace(" ", "") == normalise(other).replace(" ", "")


def _skip(skipped: Skipped | None, kind: str, error: InputError) -> None:
    """Note a mistake, and let the caller go on without the part that is wrong; strictly, the first ends the reading."""
    if skipped is None:
        raise error
    skipped.setdefault(kind, []).append(str(error))
