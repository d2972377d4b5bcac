"""Read the truth of each utterance: the answer and the rule text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import refuse_bom
from convqa.sharc.input import form_of, read_records, source
from convqa.sharc.schema import ADVICE, EXPECTED, Form, Official, Open, normalise
from convqa.tasks import scores
from convqa.tasks.files import read_start


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """``answer``: a label or a follow-up question. ``snippet_id``: the id of the rule text, "" if unknown.

    ``fields``: tree_id, source_url, ``class`` (of the answer) and ``follow_ups`` (their number); in the open-retrieval
    form also gold_snippet_id and snippet_seen.
    """

    answer: str
    snippet_id: str


@dataclass(frozen=True, slots=True)
class Gold(scores.Gold[GoldTurn]):
    """The truth, with the form of its file."""

    form: Form


def read(path: Path) -> Gold:
    """Read the answers in a file, or in the only one of a folder."""
    file = source(path)
    refuse_bom(file, read_start(file, EXPECTED, 3))
    form = form_of(file)
    return Gold(path, tuple(_turn(where, record, form) for where, record in read_records(file)), form)


def _turn(where: str, record: Official | Open, form: Form) -> GoldTurn:
    if record.answer is None:
        raise InputError(f"{where}: answer: is missing; expected a label or a question.")
    answer = normalise(record.answer, form)
    if form == "open" and answer.text == "irrelevant":
        raise InputError(
            f"{where}: answer: expected Yes, No or a follow-up question, as the open-retrieval form has no "
            f"Irrelevant, got {record.answer!r}. {ADVICE}"
        )
    fields: dict[str, Any] = {"tree_id": record.tree_id, "source_url": record.source_url}
    fields |= {"class": answer.label, "follow_ups": len(record.history)}
    if isinstance(record, Open):
        known = {"gold_snippet_id": record.gold_snippet_id, "snippet_seen": record.snippet_seen}
        fields |= {name: value for name, value in known.items() if value is not None}
    return GoldTurn(TurnId(record.utterance_id, 1), fields, record.answer, fields.get("gold_snippet_id", ""))
