"""Read the relevant passages of each question from expected.tsv or pairs.tsv."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import log
from convqa.tasks.files import any_file, only_file
from convqa.tasks.poleval.input import (
    IN,
    SetQuestion,
    read_questions,
    read_rows,
)
from convqa.tasks.poleval.run import rankings
from convqa.tasks.scores import Gold, GoldTurn
from convqa.validation import shorten

FILE = "expected.tsv"
_PAIRS_FILE = re.compile(r"questions(.*)\.jl|pairs(.*)\.tsv")
_FILES = f"{FILE} and {IN}, or pairs.tsv and questions.jl"
_LINES = "a line for each question, with the ids of relevant passages separated by TAB"
_COLUMNS = ["question-id", "passage-id", "score"]
_PAIRS = f"the columns {', '.join(_COLUMNS)}, separated by TAB, under a header with their names"


@dataclass(frozen=True, slots=True)
class PolEvalTruth(GoldTurn):
    """A question's relevant passages. Without any, every ranking scores 1. ``line`` is its index in a run.

    ``fields`` has its set, if in.tsv names one.
    """

    relevant: tuple[str, ...]
    line: int

    @property
    def set(self) -> str:
        return str(self.fields.get("set", ""))


@dataclass(frozen=True, slots=True)
class PolEvalGold(Gold[PolEvalTruth]):
    """The truth, with the number of lines that a run must have."""

    lines: int


def recognize(path: Path) -> bool:
    """Whether a file, or a file of a folder, has the name of a truth, or of questions in the folder of a truth."""
    return any_file(path, ("",), lambda file: _truth_of(file, file.parent / "none").is_file())


def read(path: Path) -> PolEvalGold:
    """Read the truth from a file, from the only one of a folder, or from the folder of a file of questions."""
    file = only_file(path, ("",), lambda file: _truth_of(file, path) == file, _FILES)
    truth = _truth_of(file, file)
    return _of_pairs(truth) if _PAIRS_FILE.fullmatch(truth.name) else _of_lines(truth)


def _truth_of(file: Path, other: Path) -> Path:
    """Return the truth that a file is, or that belongs to its questions; ``other`` for a file of another name."""
    if file.name in {IN, FILE}:
        return file.with_name(FILE)
    match = _PAIRS_FILE.fullmatch(file.name)
    return file.with_name(f"pairs{match[1] or match[2] or ''}.tsv") if match else other


def _of_lines(file: Path) -> PolEvalGold:
    """Read expected.tsv. Sets are those of the questions in its folder; without them, a turn is called by its line."""
    rows = rankings(file, _LINES)
    questions = file.with_name(IN)
    known = questions.is_file()
    if known:
        items = read_questions(questions).items
    else:
        items = tuple(SetQuestion(TurnId(line, 1), "", "") for line in range(1, len(rows) + 1))
    if len(items) != len(rows):
        raise InputError(f"{file}: expected {len(items)} lines, one per question of {questions.name}, got {len(rows)}.")
    turns = (
        PolEvalTruth(item.id, {"set": item.set} if known else {}, ids, line)
        for line, (item, ids) in enumerate(zip(items, rows, strict=True))
    )
    return PolEvalGold(file, tuple(turns), len(rows))


def _of_pairs(file: Path) -> PolEvalGold:
    """Read positive pairs by question. A question without any is left out, since its answers are unknown."""
    asked = read_questions(file.with_name(f"questions{file.stem.removeprefix('pairs')}.jl"))
    relevant: dict[str, list[str]] = {str(item.id.conversation): [] for item in asked.items}
    for line, question, passage, score in _pairs(file):
        if question not in relevant:
            raise InputError(f"{file}: line {line}: question-id: expected one of {asked.file.name}, got {question!r}.")
        if score > 0:
            relevant[question].append(passage)
    turns = tuple(
        PolEvalTruth(item.id, {}, tuple(ids), line)
        for line, (item, ids) in enumerate(zip(asked.items, relevant.values(), strict=True))
        if ids
    )
    if not turns:
        raise InputError(f"{file}: no question has a relevant passage, so nothing is left to score.")
    if missing := len(asked.items) - len(turns):
        log.warning(
            "%s: left out %d of %d questions: they have no relevant passage",
            file,
            missing,
            len(asked.items),
        )
    return PolEvalGold(file, turns, len(asked.items))


def _pairs(file: Path) -> Iterator[tuple[int, str, str, float]]:
    """Yield (line, question, passage, score) without the header."""
    for number, line in read_rows(file, _PAIRS):
        fields = [value.strip() for value in line.split("\t")]
        if number == 1 and fields == _COLUMNS:
            continue
        try:
            question, passage, score = fields
            yield number, question, passage, float(score)
        except ValueError:
            raise InputError(f"{file}: line {number}: expected {_PAIRS}, got {shorten(line)}.") from None
