"""Read ground-truth.json, the truth of every turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.files import log
from convqa.tasks.files import file_at
from convqa.tasks.qrecc.schema import (
    TRUTHS,
    Fault,
    read_scored,
    turn_id,
)
from convqa.tasks.scores import Gold, GoldTurn

FILE = "ground-truth.json"
EXPECTED = "a JSON array of {Conversation_no, Turn_no, Truth_rewrite, Truth_passages, Truth_answer}"


@dataclass(frozen=True, slots=True)
class QReCCTruth(GoldTurn):
    """The truth of one turn; missing parts are ``""`` or ``()``. ``fields`` is its record without faulty fields."""

    rewrite: str
    passages: tuple[str, ...]
    answer: str
    faults: Mapping[str, Fault]


QReCCGold = Gold[QReCCTruth]


def read(path: Path) -> QReCCGold:
    """Read ground-truth.json, or the one in a directory, with repeated turns."""
    file = file_at(path, FILE)
    turns = tuple(map(_turn, read_scored(file, TRUTHS, EXPECTED)))
    repeated = len(turns) - len(collapsed(turns))
    if repeated:
        log.warning(
            "%s: %d repeated turns; QR and ROUGE1-R count each of them",
            file,
            repeated,
        )
    return Gold(file, turns)


def _turn(record: Mapping[str, Any]) -> QReCCTruth:
    faults = {name: value for name, value in record.items() if isinstance(value, Fault)}
    fields = {name: value for name, value in record.items() if name not in faults}
    return QReCCTruth(
        turn_id(record),
        fields,
        fields.get("Truth_rewrite", ""),
        tuple(fields.get("Truth_passages", ())),
        fields.get("Truth_answer", ""),
        faults,
    )


def collapsed(turns: Iterable[QReCCTruth]) -> list[QReCCTruth]:
    """Return the last record of each turn. EM, F1 and MRR count a turn once, QR and ROUGE1-R every record."""
    return list({turn.id: turn for turn in turns}.values())
