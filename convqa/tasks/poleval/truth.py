"""Which passages answer a question: expected.tsv, a line each, or pairs.tsv."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import log
from convqa.tasks.poleval import input, passages
from convqa.tasks.poleval.input import is_pairs, questions_of, read_rows, truth_file
from convqa.tasks.poleval.run import numbered_rankings
from convqa.validation import shorten

_WANTED_EXPECTED = "a line for each question, with the ids of relevant passages separated by TAB"
_COLUMNS = ["question-id", "passage-id", "score"]
_WANTED_PAIRS = f"the columns {', '.join(_COLUMNS)}, separated by TAB, under a header that says so"


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """A question's relevant passages; none: any ranking scores 1. ``line`` of a run answers it, counted from 0.

    ``fields`` has its set, where in.tsv says one.
    """

    id: TurnId
    relevant: tuple[str, ...]
    line: int
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def set(self) -> str:
        return str(self.fields.get("set", ""))


@dataclass(frozen=True, slots=True)
class Gold:
    """The truth in file order, and how many ``lines`` a run has. No component can receive it."""

    path: Path
    turns: tuple[GoldTurn, ...]
    lines: int


class _Pair(NamedTuple):
    line: int
    question: str
    passage: str
    score: float


def read(path: Path) -> Gold:
    """The truth in a file, or in that of a folder.

    :raises InputError: naming file and line of the first mistake.
    """
    file = truth_file(path)
    return _of_pairs(file) if is_pairs(file) else _of_lines(file)


def _of_lines(file: Path) -> Gold:
    """Sets are those of the questions beside it; without these a turn is called by its line."""
    rows = numbered_rankings(file, _WANTED_EXPECTED)
    expected = [ids for _, ids in rows]
    if not expected:
        raise InputError(f"{file}: there is no line to score; wanted {_WANTED_EXPECTED}.")
    asked = questions_of(file)
    if not asked.is_file():
        _refuse_unknown(file, input.Questions(asked, (), ("",)), _places(("", *row) for row in rows))
        turns = (GoldTurn(TurnId(line + 1, 1), ids, line, {}) for line, ids in enumerate(expected))
        return Gold(file, tuple(turns), len(expected))
    found = input.read(asked)
    items = found.items
    if len(items) != len(expected):
        raise InputError(f"{file}: has {len(expected)} lines; wanted {len(items)}, as {asked.name} has questions.")
    _refuse_unknown(file, found, _places((one.set, *row) for one, row in zip(items, rows, strict=True)))
    return Gold(
        file,
        tuple(
            GoldTurn(one.id, ids, line, {"set": one.set})
            for line, (one, ids) in enumerate(zip(items, expected, strict=True))
        ),
        len(expected),
    )


def _of_pairs(file: Path) -> Gold:
    """Positive pairs by question. A question without any is left out: nobody said that it has no answer."""
    asked = input.read(questions_of(file))
    relevant: dict[str, list[str]] = {str(one.id.conversation): [] for one in asked.items}
    rows = []
    for pair in _pairs(file):
        if pair.question not in relevant:
            raise InputError(
                f"{file}: line {pair.line}: question-id: found {pair.question!r}; wanted one of {asked.file.name}."
            )
        rows.append(("", pair.line, (pair.passage,)))
        if pair.score > 0:
            relevant[pair.question].append(pair.passage)
    _refuse_unknown(file, asked, _places(rows))
    turns = tuple(
        GoldTurn(one.id, tuple(ids), line, {})
        for line, (one, ids) in enumerate(zip(asked.items, relevant.values(), strict=True))
        if ids
    )
    if not turns:
        raise InputError(f"{file}: no question has a relevant passage, so nothing is left to score.")
    if len(turns) < len(asked.items):
        lacking = len(asked.items) - len(turns)
        log.warning("%s: left out %d of %d questions: they have no relevant passage", file, lacking, len(asked.items))
    return Gold(file, turns, len(asked.items))


def _places(rows: Iterable[tuple[str, int, tuple[str, ...]]]) -> dict[str, dict[str, int]]:
    """Set -> id of a passage -> the first line that names it, of (set, line, ids). An empty id names none."""
    places: dict[str, dict[str, int]] = {}
    for name, line, ids in rows:
        for id in filter(None, ids):
            places.setdefault(name, {}).setdefault(id, line)
    return places


def _refuse_unknown(file: Path, asked: input.Questions, places: Mapping[str, Mapping[str, int]]) -> None:
    """Where the passages lie beside the questions: refuse the first line with an id that none of its set has."""
    lacking = passages.unknown(asked, places)
    strange = [(places[name][id], name, id) for name, ids in lacking.items() for id in ids]
    if strange:
        line, name, id = min(strange)
        known = len(places[name]) - len(lacking[name])
        of = f" of {name}" if name else ""
        raise InputError(
            f"{file}: line {line}: passage-id: found {id!r}; wanted the id of a passage{of} of those beside it, as "
            f"{known} of {len(places[name])} are."
        )


def _pairs(file: Path) -> Iterator[_Pair]:
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
        yield _Pair(number, fields[0], fields[1], _number(fields[2], where))
    if not number:
        raise InputError(f"{file}: the file is empty; wanted {_WANTED_PAIRS}.")


def _number(text: str, where: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise InputError(f"{where}: score: found {text!r}; wanted a number, 1 for a relevant passage.")
    return score
