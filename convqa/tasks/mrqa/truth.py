"""Read the accepted answers of all questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.mrqa.input import contexts
from convqa.tasks.mrqa.sets import domain_of
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

    Like the official script, refuses a question without answers in MRQA's own format.
    """
    turns = []
    for data_set, context in contexts(path):
        name = data_set.name
        for question in context.questions:
            answerable = bool(question.answers)
            if not answerable and data_set.form != "squad":
                raise InputError(f"{data_set.path}: question {question.id!r} has no answers; expected one or more.")
            fields = {"dataset": name, "domain": domain_of(name), "answerable": answerable}
            turns.append(MRQATruth(TurnId(question.id, 1), fields, question.answers))
    if not turns:
        raise InputError(f"{path}: has no questions to score.")
    return Gold(path, tuple(turns))
