"""Read the accepted answers of all questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import refuse_bom
from convqa.tasks.files import read_start
from convqa.tasks.mrqa.input import EXPECTED, contexts, data_sets, form_of
from convqa.tasks.mrqa.sets import domain_of, warn_of_gaps
from convqa.tasks.scores import Gold, GoldTurn


@dataclass(frozen=True, slots=True)
class MRQATruth(GoldTurn):
    """A question's accepted answers; empty if unanswerable (SQuAD 2). ``fields``: dataset, domain, answerable."""

    answers: tuple[str, ...]

    @property
    def dataset(self) -> str:
        return str(self.fields["dataset"])


MRQAGold = Gold[MRQATruth]


def read(path: Path) -> MRQAGold:
    """Read the answers in a file, or in all files of a folder.

    Like the official script, refuses a data set without questions, and in MRQA's own format a question without answers.
    """
    sets = data_sets(path)
    warn_of_gaps([data_set.name for data_set in sets])
    squad_sets = {data_set.name for data_set in sets if form_of(data_set.path) == "squad"}
    for data_set in sets:
        if data_set.name in squad_sets:  # SQuAD's script stops at a byte order mark, MRQA's does not
            refuse_bom(data_set.path, read_start(data_set.path, EXPECTED, 3))
    turns = []
    for data_set, context in contexts(sets):
        name = data_set.name
        for question in context.questions:
            if not question.answers and name not in squad_sets:
                raise InputError(f"{data_set.path}: question {question.id!r} has no answers; expected one or more.")
            fields = {
                "dataset": name,
                "domain": domain_of(name),
                "answerable": bool(question.answers),
            }
            turns.append(MRQATruth(TurnId(question.id, 1), fields, question.answers))
    asked = {turn.dataset for turn in turns}
    for data_set in sets:
        if data_set.name not in asked:
            raise InputError(f"{data_set.path}: has no questions to score.")
    return Gold(path, tuple(turns))
