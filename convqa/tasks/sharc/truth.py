"""The gold of each utterance: the answer and the rule text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import refuse_bom
from convqa.tasks import scores
from convqa.tasks.files import read_start
from convqa.tasks.sharc.answers import said
from convqa.tasks.sharc.input import Placed, read_records, source
from convqa.tasks.sharc.schema import ADVICE, WANTED, Form, Open


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """``answer``: a label or a follow-up question.

    ``snippet_id``: of the rule text, "" where the file does not say it. ``fields``: tree_id, source_url, ``class`` (of
    the answer) and ``follow_ups`` (how many there were), in the open-retrieval form gold_snippet_id and snippet_seen.
    """

    answer: str
    snippet_id: str


@dataclass(frozen=True, slots=True)
class Gold(scores.Gold[GoldTurn]):
    """``form``: of the file."""

    form: Form


def read(path: Path) -> Gold:
    """The answers in a file, or in the only one of a folder.

    :raises InputError: naming file, place, utterance and field of the first fault; also for an utterance without an
        answer, and for Irrelevant in the open-retrieval form, which has no such class.
    """
    found = source(path)
    refuse_bom(found.file, read_start(found.file, WANTED, 3)[0])
    return Gold(path, tuple(_turn(placed, found.form) for placed in read_records(found)), found.form)


def _turn(placed: Placed, form: Form) -> GoldTurn:
    record = placed.record
    if record.answer is None:
        raise InputError(f"{placed.where}: answer: is missing, so it cannot be scored; wanted a label or a question.")
    words = said(record.answer, form)
    if form == "open" and words.text == "irrelevant":
        raise InputError(
            f"{placed.where}: answer: found {record.answer!r}; wanted Yes, No or a follow-up question, because the "
            f"open-retrieval form knows no Irrelevant. {ADVICE}"
        )
    fields: dict[str, Any] = {"tree_id": record.tree_id, "source_url": record.source_url}
    fields |= {"class": words.label, "follow_ups": len(record.history)}
    if isinstance(record, Open):
        known = {"gold_snippet_id": record.gold_snippet_id, "snippet_seen": record.snippet_seen}
        fields |= {name: value for name, value in known.items() if value is not None}
    return GoldTurn(TurnId(record.utterance_id, 1), fields, record.answer, fields.get("gold_snippet_id", ""))
