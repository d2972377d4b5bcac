"""ground-truth.json: the truth of every turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.files import log
from convqa.tasks import scores
from convqa.tasks.files import file_at
from convqa.tasks.qrecc.schema import TRUTHS, Fault, check_spellings, read_scored, turn_id

FILE = "ground-truth.json"
WANTED = "a JSON array of {Conversation_no, Turn_no, Truth_rewrite, Truth_passages, Truth_answer}"


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """The truth about one turn: ``""`` and ``()`` mean that there is none. ``fields`` is its record but for faults."""

    rewrite: str
    passages: tuple[str, ...]
    answer: str
    faults: Mapping[str, Fault]


class Gold(scores.Gold[GoldTurn]):
    """Turns that are twice in the file are here twice."""


def read(path: Path) -> Gold:
    """ground-truth.json, or the one in a directory."""
    file = file_at(path, FILE)
    turns = tuple(map(_turn, read_scored(file, TRUTHS, WANTED)))
    check_spellings(file, [turn.id for turn in turns])
    if again := len(turns) - len(collapsed(turns)):
        log.warning("%s: %d turns occur again; QR and ROUGE1-R count each", file, again)
    return Gold(file, turns)


def _turn(record: Mapping[str, Any]) -> GoldTurn:
    faults = {name: value for name, value in record.items() if isinstance(value, Fault)}
    fields = {name: value for name, value in record.items() if name not in faults}
    rewrite, answer = fields.get("Truth_rewrite", ""), fields.get("Truth_answer", "")
    return GoldTurn(turn_id(record), fields, rewrite, tuple(fields.get("Truth_passages", ())), answer, faults)


def collapsed(turns: Iterable[GoldTurn]) -> list[GoldTurn]:
    """Of turns that are twice in the truth the last: EM, F1 and MRR are kept by turn, QR and ROUGE1-R are not."""
    return list({turn.id: turn for turn in turns}.values())
