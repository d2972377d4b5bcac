"""The accepted answers of every question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import refuse_bom
from convqa.tasks import scores
from convqa.tasks.files import read_start
from convqa.tasks.mrqa.input import WANTED, contexts, data_sets, form_of
from convqa.tasks.mrqa.sets import domain_of, warn_of_gaps


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """A question's accepted answers; none: it cannot be answered (SQuAD 2). ``fields``: dataset, domain, answerable."""

    answers: tuple[str, ...]

    @property
    def dataset(self) -> str:
        return str(self.fields["dataset"])


class Gold(scores.Gold[GoldTurn]):
    """The accepted answers of one data set, or of several, one after another."""


def read(path: Path) -> Gold:
    """The answers in a file, or in all files of a folder.

    :raises InputError: naming file and place of the first mistake; also where the official script would stop: a data
        set without questions, and a question of MRQA's own format without answers.
    """
    sets = data_sets(path)
    warn_of_gaps([one.name for one in sets])
    may_lack = {one.name for one in sets if form_of(one.path)[0] == "squad"}
    for one in sets:
        if one.name in may_lack:  # SQuAD's script stops there, MRQA's reads on
            refuse_bom(one.path, read_start(one.path, WANTED, 3)[0])
    turns = []
    for one, context in contexts(sets):
        for question in context.questions:
            if not question.answers and one.name not in may_lack:
                raise InputError(
                    f"{one.path}: question {question.id!r} has no answers, so it cannot be scored; wanted one or more."
                )
            fields = {"dataset": one.name, "domain": domain_of(one.name), "answerable": bool(question.answers)}
            turns.append(GoldTurn(TurnId(question.id, 1), fields, question.answers))
    asked = {turn.dataset for turn in turns}
    for one in sets:
        if one.name not in asked:
            raise InputError(f"{one.path}: there is no question in it to score.")
    return Gold(path, tuple(turns))
