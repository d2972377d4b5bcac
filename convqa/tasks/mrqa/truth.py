"""The accepted answers of every question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.mrqa.input import DataSet, Owners, data_sets, form_of, read_contexts, warn_of_gaps


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """A question's accepted answers; none: it cannot be answered (SQuAD 2). ``fields``: dataset, domain, answerable."""

    id: TurnId
    answers: tuple[str, ...]
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def dataset(self) -> str:
        return str(self.fields["dataset"])


@dataclass(frozen=True, slots=True)
class Gold:
    """The truth in file order, and the data sets that it comes from. No component can receive it."""

    path: Path
    turns: tuple[GoldTurn, ...]
    sets: tuple[DataSet, ...]


def read(path: Path) -> Gold:
    """The answers in a file, or in all files of a folder.

    :raises InputError: naming file and place of the first mistake; also where the official script would stop: a data
        set without questions, and a question of MRQA's own format without answers.
    """
    sets = data_sets(path)
    warn_of_gaps(sets)
    owners, turns = Owners(), list[GoldTurn]()
    for one in sets:
        found = list(_turns(one, owners))
        if not found:
            raise InputError(f"{one.path}: there is no question in it to score.")
        turns += found
    return Gold(path, tuple(turns), tuple(sets))


def _turns(one: DataSet, owners: Owners) -> Iterator[GoldTurn]:
    fields = {kind: {"dataset": one.name, "domain": one.domain, "answerable": kind} for kind in (True, False)}
    unanswerable = form_of(one.path)[0] == "squad"
    for context in read_contexts(one.path, aligned=False):
        for question in context.questions:
            if not question.answers and not unanswerable:
                raise InputError(
                    f"{one.path}: question {question.id!r} has no answers, so it cannot be scored; wanted one or more."
                )
            owners.claim(question.id, one)
            yield GoldTurn(TurnId(question.id, 1), question.answers, fields[bool(question.answers)])
