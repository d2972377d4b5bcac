"""Read the files of the MRQA 2019 shared task: JSON lines, plain or gzip, with a context and its questions per line.

The format: https://github.com/mrqa/MRQA-Shared-Task-2019#mrqa-format.
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

EXPECTED = "MRQA's JSON lines: {context, qas: [{qid, question, answers, detected_answers: [{text, char_spans}]}]}"
_ADVICE = f"Expected: {EXPECTED}."

Skipped = dict[str, list[str]]
"""Kind of error -> messages."""


class Lenient:
    """Skips malformed parts of files, with one warning per file, however often it is read."""

    def __init__(self) -> None:
        self._warned: set[Path] = set()

    def warn(self, path: Path, skipped: Skipped) -> None:
        if path not in self._warned:
            self._warned.add(path)
            counts = ", ".join(f"{len(messages)} {kind}" for kind, messages in skipped.items())
            firsts = " ".join(messages[0] for messages in skipped.values())
            log.warning("%s: skipped %s. The first of each: %s", path, counts, firsts)


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


def read_jsonl(path: Path, lenient: Lenient | None = None, aligned: bool = True) -> Iterator[Context]:
    """Yield the contexts of a file. The file's inclusive spans become half-open, without repetitions.

    The text of a detected answer must match its spans after SQuAD's normalisation (lower case, no punctuation, no
    articles), by which the task detected it, and without blanks.

    :param lenient: skip malformed parts and report them here.
    :param aligned: check the texts of spans; predictions and scores do not depend on them.
    """
    skipped: Skipped | None = None if lenient is None else {}
    seen: set[str] = set()
    empty = True
    for number, line in read_lines(path, EXPECTED):
        where = f"{path}: line {number}"
        value = _json(line, where, number == 1, skipped)
        if value is None or (number == 1 and isinstance(value, dict) and "header" in value):
            continue
        context = _context(value, where, seen, skipped, aligned)
        if context is not None:
            empty = False
            yield context
    if lenient is not None and skipped:
        lenient.warn(path, skipped)
    if empty:
        raise InputError(f"{path}: has no contexts; expected {EXPECTED}.")


def _json(line: bytes, where: str, first: bool, skipped: Skipped | None) -> Any | None:
    """Return the JSON value of a line, None if malformed."""
    if not line.strip():
        _skip(skipped, "blank lines", InputError(f"{where}: is blank. {_ADVICE}"))
        return None
    try:
        value, replaced = parse_line(line, where, _ADVICE, first)
    except InputError as error:
        _skip(skipped, "lines with malformed JSON", error)
        return None
    if replaced:
        _skip(skipped, "lines with lone surrogates", InputError(f"{where}: has {replaced} lone surrogates. {_ADVICE}"))
    return value


def _context(value: Any, where: str, seen: set[str], skipped: Skipped | None, aligned: bool) -> Context | None:
    try:
        if isinstance(value, dict) and "header" in value:
            raise InputError(f"{where}: a header may only be on the first line. {_ADVICE}")
        line = read_as(_Line, value, where, _ADVICE)
    except InputError as error:
        _skip(skipped, "malformed contexts", error)
        return None
    questions = []
    for index, item in enumerate(line.qas):
        position = f"{where}: qas[{index}]"
        try:
            record = read_as(_Question, item, position, _ADVICE)
        except InputError as error:
            _skip(skipped, "malformed questions", error)
            continue
        if record.qid in seen:
            repeated = InputError(f"{position}: qid: {record.qid!r} is also the qid of an earlier question.")
            _skip(skipped, "questions with a repeated qid", repeated)
            continue
        seen.add(record.qid)
        detected = (
            _spans(answer, line.context, f"{position}.detected_answers[{number}]", skipped, aligned)
            for number, answer in enumerate(record.detected_answers)
        )
        spans = tuple(dict.fromkeys(chain.from_iterable(detected)))
        questions.append(Question(record.qid, record.question, tuple(record.answers), spans))
    return Context(line.context, tuple(questions))


def _spans(answer: Any, context: str, where: str, skipped: Skipped | None, aligned: bool) -> Iterator[tuple[int, int]]:
    try:
        detected = read_as(_Detected, answer, where, _ADVICE)
    except InputError as error:
        _skip(skipped, "malformed detected answers", error)
        return
    for number, (first, last) in enumerate(detected.char_spans):
        position = f"{where}.char_spans[{number}]"
        if not 0 <= first <= last < len(context):
            problem = f"expected first and last character in the context of {len(context)}, got [{first}, {last}]"
            _skip(skipped, "spans outside their context", InputError(f"{position}: {problem}."))
        elif aligned and not _same(context[first : last + 1], detected.text):
            problem = f"expected {shorten(detected.text)} in the context, got {shorten(context[first : last + 1])}"
            _skip(skipped, "spans with another text", InputError(f"{position}: {problem}."))
        else:
            yield first, last + 1


def _same(span: str, text: str) -> bool:
    return span == text or normalise(span).replace(" ", "") == normalise(text).replace(" ", "")


def _skip(skipped: Skipped | None, kind: str, error: InputError) -> None:
    """Record an error, so that the caller can skip the malformed part; raise it in strict mode."""
    if skipped is None:
        raise error
    skipped.setdefault(kind, []).append(str(error))
