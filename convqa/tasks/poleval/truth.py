"""Which passages answer a question: expected.tsv, a line each, or pairs.tsv."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import log
from convqa.tasks import scores
from convqa.tasks.files import any_file
from convqa.tasks.poleval.input import IN, Question, Questions, is_jl, is_questions, one_file, read_questions, read_rows
from convqa.tasks.poleval.run import rankings
from convqa.validation import shorten

EXPECTED = "expected.tsv"
_WANTED = f"{EXPECTED} beside {IN}, or pairs.tsv beside questions.jl"
_WANTED_EXPECTED = "a line for each question, with the ids of relevant passages separated by TAB"
_COLUMNS = ["question-id", "passage-id", "score"]
_WANTED_PAIRS = f"the columns {', '.join(_COLUMNS)}, separated by TAB, under a header that says so"


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """A question's relevant passages; none: any ranking scores 1. ``line`` of a run answers it, counted from 0.

    ``fields`` has its set, where in.tsv says one.
    """

    relevant: tuple[str, ...]
    line: int

    @property
    def set(self) -> str:
        return str(self.fields.get("set", ""))


@dataclass(frozen=True, slots=True)
class Gold(scores.Gold[GoldTurn]):
    """``lines``: how many a run has."""

    lines: int


def recognise(path: Path) -> bool:
    """Whether a file, or a file of a folder, is called as a truth is, or as questions that have one beside them."""
    return any_file(path, ("",), lambda file: _is_truth(file) or (is_questions(file) and _truth_of(file).is_file()))


def read(path: Path) -> Gold:
    """The truth in a file, in that of a folder, or beside a file of questions.

    :raises InputError: naming file and line of the first mistake; also where a folder has no truth, or several.
    """
    file = one_file(path, _is_truth, _WANTED)
    if is_questions(file):
        file = _truth_of(file)
    return _of_pairs(file) if _is_pairs(file) else _of_lines(file)


def _is_truth(path: Path) -> bool:
    return path.is_file() and (path.name == EXPECTED or _is_pairs(path))


def _is_pairs(path: Path) -> bool:
    """Whether a truth is the competition's: pairs.tsv, pairs-test.tsv."""
    return path.name.startswith("pairs") and path.suffix == ".tsv"


def _truth_of(questions: Path) -> Path:
    if is_jl(questions):
        return questions.with_name(f"pairs{questions.stem.removeprefix('questions')}.tsv")
    return questions.with_name(EXPECTED)


def _questions_of(truth: Path) -> Path:
    if _is_pairs(truth):
        return truth.with_name(f"questions{truth.stem.removeprefix('pairs')}.jl")
    return truth.with_name(IN)


def _of_lines(file: Path) -> Gold:
    """Sets are those of the questions beside it; without these a turn is called by its line."""
    rows = rankings(file, _WANTED_EXPECTED)
    if not rows:
        raise InputError(f"{file}: there is no line to score; wanted {_WANTED_EXPECTED}.")
    beside = _questions_of(file)
    known = beside.is_file()
    if known:
        asked = read_questions(beside)
    else:
        asked = Questions(beside, tuple(Question(TurnId(line, 1), "", "") for line in range(1, len(rows) + 1)), ("",))
    if len(asked.items) != len(rows):
        raise InputError(f"{file}: has {len(rows)} lines; wanted {len(asked.items)}, as {beside.name} has questions.")
    turns = (
        GoldTurn(one.id, {"set": one.set} if known else {}, ids, line)
        for line, (one, ids) in enumerate(zip(asked.items, rows, strict=True))
    )
    return Gold(file, tuple(turns), len(rows))


def _of_pairs(file: Path) -> Gold:
    """Positive pairs by question. A question without any is left out: nobody said that it has no answer."""
    asked = read_questions(_questions_of(file))
    relevant: dict[str, list[str]] = {str(one.id.conversation): [] for one in asked.items}
    for line, question, passage, score in _pairs(file):
        if question not in relevant:
            raise InputError(f"{file}: line {line}: question-id: found {question!r}; wanted one of {asked.file.name}.")
        if score > 0:
            relevant[question].append(passage)
    turns = tuple(
        GoldTurn(one.id, {}, tuple(ids), line)
        for line, (one, ids) in enumerate(zip(asked.items, relevant.values(), strict=True))
        if ids
    )
    if not turns:
        raise InputError(f"{file}: no question has a relevant passage, so nothing is left to score.")
    if len(turns) < len(asked.items):
        lacking = len(asked.items) - len(turns)
        log.warning("%s: left out %d of %d questions: they have no relevant passage", file, lacking, len(asked.items))
    return Gold(file, turns, len(asked.items))


def _pairs(file: Path) -> Iterator[tuple[int, str, str, float]]:
    """(line, question, passage, score) of each line but the header."""
    number = 0
    for number, line in read_rows(file, _WANTED_PAIRS):
        where, fields = f"{file}: line {number}", [value.strip() for value in line.split("\t")]
        if number == 1:
            if fields != _COLUMNS:
                raise InputError(f"{where}: found {shorten(line)}; wanted {_WANTED_PAIRS}.")
            continue
        if len(fields) != len(_COLUMNS):
            raise InputError(f"{where}: found {len(fields)} columns; wanted {_WANTED_PAIRS}.")
        for name, value in zip(_COLUMNS, fields, strict=True):
            if not value:
                raise InputError(f"{where}: {name}: is empty; wanted {_WANTED_PAIRS}.")
        try:
            score = float(fields[2])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise InputError(f"{where}: score: found {fields[2]!r}; wanted a number, 1 for a relevant passage.")
        yield number, fields[0], fields[1], score
    if not number:
        raise InputError(f"{file}: the file is empty; wanted {_WANTED_PAIRS}.")
