"""The files of the MRQA 2019 shared task: JSON lines, plain or gzip; a context with its questions is a line.

The form: https://github.com/mrqa/MRQA-Shared-Task-2019#mrqa-format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from convqa.errors import InputError
from convqa.files import log, parse_line
from convqa.metrics.squad import normalise
from convqa.tasks.files import read_lines
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import read_as, shorten

WANTED = "MRQA's JSON lines: {context, qas: [{qid, question, answers, detected_answers: [{text, char_spans}]}]}"
_ADVICE = f"Wanted: {WANTED}."


class _Line(BaseModel):
    model_config = ConfigDict(strict=True)

    context: str
    qas: list[Any]


class _Question(BaseModel):
    model_config = ConfigDict(strict=True)

    qid: str = Field(min_length=1)
    question: str
    answers: list[str] = []  # what is to be predicted may lack both
    detected_answers: list[Any] = []


class _Detected(BaseModel):
    model_config = ConfigDict(strict=True)

    text: str
    char_spans: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


def read_jsonl(path: Path, lenient: Lenient | None = None, aligned: bool = True) -> Iterator[Context]:
    """The contexts of a file in order, one at a time; inclusive spans become half-open, repeated ones are one.

    What detected answers say must stand at their spans: the same after SQuAD's normalisation (lower case, no
    punctuation, no articles), which is how the task found them, and without regard to blanks.

    :param lenient: go on without what is wrong, and count it here.
    :param aligned: whether that is looked at; predictions and their scores do not rest on it.
    :raises InputError: naming file and line; also for gzip that is damaged, and a file without any context.
    """
    mistakes = lenient or Strict()
    seen: set[str] = set()
    empty = True
    for number, line in read_lines(path, WANTED):
        where = f"{path}: line {number}"
        found = _json(line, where, number == 1, mistakes)
        if found is None or (number == 1 and isinstance(found, dict) and "header" in found):
            continue
        context = _context(found, where, seen, mistakes, aligned)
        if context is not None:
            empty = False
            yield context
    if lenient is not None:
        lenient.tell(path)
    if empty:
        raise InputError(f"{path}: there is no context in it; wanted {WANTED}.")


def _json(line: bytes, where: str, first: bool, mistakes: Strict) -> Any | None:
    """The JSON value of a line, or None where there is none."""
    if not line.strip():
        mistakes.found("blank lines", InputError(f"{where}: is blank. {_ADVICE}"))
        return None
    try:
        value, mended = parse_line(line, where, _ADVICE, first)
    except InputError as error:
        mistakes.found("lines that are no JSON", error)
        return None
    if mended:
        mistakes.found("lines with half surrogates", InputError(f"{where}: has {mended} half surrogates. {_ADVICE}"))
    return value


def _context(found: Any, where: str, seen: set[str], mistakes: Strict, aligned: bool) -> Context | None:
    try:
        if isinstance(found, dict) and "header" in found:
            raise InputError(f"{where}: a header stands on the first line only. {_ADVICE}")
        line = read_as(_Line, found, where, _ADVICE)
    except InputError as error:
        mistakes.found("lines that are no contexts", error)
        return None
    questions = []
    for index, asked in enumerate(line.qas):
        place = f"{where}: qas[{index}]"
        try:
            record = read_as(_Question, asked, place, _ADVICE)
        except InputError as error:
            mistakes.found("questions of another form", error)
            continue
        if record.qid in seen:
            again = InputError(f"{place}: qid: {record.qid!r} names an earlier question too.")
            mistakes.found("questions whose qid was there before", again)
            continue
        seen.add(record.qid)
        detected = (
            _spans(answer, line.context, f"{place}.detected_answers[{number}]", mistakes, aligned)
            for number, answer in enumerate(record.detected_answers)
        )
        spans = tuple(dict.fromkeys(chain.from_iterable(detected)))
        questions.append(Question(record.qid, record.question, tuple(record.answers), spans))
    return Context(line.context, tuple(questions))


def _spans(answer: Any, context: str, where: str, mistakes: Strict, aligned: bool) -> Iterator[tuple[int, int]]:
    try:
        detected = read_as(_Detected, answer, where, _ADVICE)
    except InputError as error:
        mistakes.found("detected answers of another form", error)
        return
    for number, (first, last) in enumerate(detected.char_spans):
        place = f"{where}.char_spans[{number}]"
        if not 0 <= first <= last < len(context):
            problem = (
                f"found [{first}, {last}]; wanted first and last character in the context, which has {len(context)}"
            )
            mistakes.found("spans outside their context", InputError(f"{place}: {problem}."))
        elif aligned and not _same(context[first : last + 1], detected.text):
            problem = f"the context has {shorten(context[first : last + 1])} there; wanted {shorten(detected.text)}"
            mistakes.found("spans with another text", InputError(f"{place}: {problem}."))
        else:
            yield first, last + 1


def _same(one: str, other: str) -> bool:
    return one == other or normalise(one).replace(" ", "") == normalise(other).replace(" ", "")


class Strict:
    """The first mistake ends the reading."""

    def found(self, kind: str, error: InputError) -> None:  # noqa: ARG002
        """Called with a mistake of some kind; whoever calls goes on without the part that is wrong."""
        raise error


class Lenient(Strict):
    """Skips what is wrong and counts it by kind (``counts``); each file's mistakes are told in one warning."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._in_file: Counter[str] = Counter()
        self._first: dict[str, str] = {}
        self._told: set[Path] = set()

    def found(self, kind: str, error: InputError) -> None:
        self.counts[kind] += 1
        self._in_file[kind] += 1
        self._first.setdefault(kind, str(error))

    def tell(self, path: Path) -> None:
        """Warn of what was found in the file that was just read; once, however often it is read."""
        if self._in_file and path not in self._told:
            skipped = ", ".join(f"{count} {kind}" for kind, count in self._in_file.items())
            log.warning("%s: went on without %s. The first of each: %s", path, skipped, " ".join(self._first.values()))
            self._told.add(path)
        self._in_file.clear()
        self._first.clear()
