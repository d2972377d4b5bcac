"""Read ground-truth.json, the truth of every turn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from convqa.errors import counted
from convqa.files import log
from convqa.tasks.files import file_at, read_official_array
from convqa.tasks.qrecc.schema import TRUTHS, checked, turn_id
from convqa.tasks.scores import Gold, GoldTurn

FILE = "ground-truth.json"
EXPECTED = "a JSON array of {Conversation_no, Turn_no, Truth_rewrite, Truth_passages, Truth_answer}"


@dataclass(frozen=True, slots=True)
class QReCCTruth(GoldTurn):
    """The truth of one turn; missing parts are ``""`` or ``()``."""

    rewrite: str
    passages: tuple[str, ...]
    answer: str


QReCCGold = Gold[QReCCTruth]


def read(path: Path) -> QReCCGold:
    """Read ground-truth.json, or the one in a directory, with repeated turns."""
    file = file_at(path, FILE)
    turns = tuple(
        QReCCTruth(
            turn_id(record),
            record,
            record["Truth_rewrite"],
            tuple(record.get("Truth_passages", ())),
            record["Truth_answer"],
        )
        for record in checked(file, read_official_array(file, EXPECTED), TRUTHS)
    )
    repeated = len(turns) - len(collapsed(turns))
    if repeated:
        log.warning("%s: %s; QR and ROUGE1-R count each of them", file, counted(repeated, "repeated turns"))
    return Gold(file, turns)


def collapsed(turns: Iterable[QReCCTruth]) -> list[QReCCTruth]:
    """Return the last record of each turn. EM, F1 and MRR count a turn once, QR and ROUGE1-R every record."""
    return list({turn.id: turn for turn in turns}.values())
