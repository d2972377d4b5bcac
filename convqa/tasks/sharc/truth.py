"""The gold of each utterance: the answer, the evidence in its scenario, and the rule text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import log, refuse_bom
from convqa.tasks import scores
from convqa.tasks.files import read_start
from convqa.tasks.sharc.answers import said
from convqa.tasks.sharc.input import Placed, read_records, source
from convqa.tasks.sharc.schema import ADVICE, WANTED, Form, Open
from convqa.validation import shorten


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """``answer``: a label or a follow-up question. ``evidence``: (question, answer) that the scenario gives away.

    ``snippet_id``: of the rule text, "" where the file does not say it. ``fields``: tree_id, source_url, ``class`` (of
    the answer) and ``follow_ups`` (how many there were), in the open-retrieval form gold_snippet_id and snippet_seen.
    """

    answer: str
    evidence: tuple[tuple[str, str], ...]
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
    odd = list[str]()
    turns = [_turn(placed, found.form, odd) for placed in read_records(found)]
    if odd:
        log.warning(
            "%s: evidence in other words than follow_up_question and Yes or No: %d. The first: %s",
            found.file, len(odd), odd[0].removeprefix(f"{found.file}: "),
        )  # fmt: skip
    return Gold(path, tuple(turns), found.form)


def _turn(placed: Placed, form: Form, odd: list[str]) -> GoldTurn:
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
    evidence, snippet_id = evidence_of(placed, odd), fields.get("gold_snippet_id", "")
    return GoldTurn(TurnId(record.utterance_id, 1), fields, record.answer, evidence, snippet_id)


def evidence_of(placed: Placed, odd: list[str] | None = None) -> tuple[tuple[str, str], ...]:
    """(question, answer) that an utterance's scenario gives away.

    :param odd: takes what is written in other words than the rest of the files.
    :raises InputError: naming file, place and utterance of what is none.
    """
    found = [] if odd is None else odd
    return tuple(_evidence(index, entry, placed.where, found) for index, entry in enumerate(placed.record.evidence))


def _evidence(index: int, entry: Any, where: str, odd: list[str]) -> tuple[str, str]:
    """The published files once call the fields ``followup_...``, and have answers such as ``yes`` and ``Noe``."""
    place, given = f"{where}: evidence[{index}]", entry if isinstance(entry, dict) else {}
    spelled = {"follow_up_question", "follow_up_answer"} <= given.keys()
    prefix = "follow_up" if spelled else "followup"
    question, answer = given.get(f"{prefix}_question"), given.get(f"{prefix}_answer")
    if not (isinstance(question, str) and question.strip() and isinstance(answer, str) and answer.strip()):
        raise InputError(
            f"{place}: found {shorten(entry)}; wanted follow_up_question and follow_up_answer as text. {ADVICE}"
        )
    if not spelled or answer not in {"Yes", "No"}:
        odd.append(f"{place}: {shorten(entry)}")
    return question, answer
