"""ground-truth.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.files import log
from convqa.tasks.base import Groups
from convqa.tasks.qrecc import input
from convqa.tasks.qrecc.schema import TRUTHS, check_spellings, read_records, turn_id

FILE = "ground-truth.json"
WANTED = "a JSON array of {Conversation_no, Turn_no, Truth_rewrite, Truth_passages, Truth_answer}"


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """The truth about one turn: ``""`` and ``()`` mean that there is none. ``fields`` is the whole record."""

    id: TurnId
    rewrite: str
    passages: tuple[str, ...]
    answer: str
    fields: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Gold:
    """The truth in file order. No component can receive it."""

    path: Path
    turns: tuple[GoldTurn, ...]


def read(path: Path) -> Gold:
    """ground-truth.json, or the one in a directory.

    :raises InputError: naming the record and field that is wrong.
    """
    file = path / FILE if path.is_dir() else path
    records = read_records(file, TRUTHS, WANTED)
    turns = tuple(
        GoldTurn(
            turn_id(record),
            record["Truth_rewrite"],
            tuple(record.get("Truth_passages", ())),
            record["Truth_answer"],
            record,
        )
        for record in records
    )
    ids = [turn.id for turn in turns]
    check_spellings(file, ids)
    if len(set(ids)) < len(ids):
        log.warning("%s: %d turns occur again; QR and ROUGE1-R count each", file, len(ids) - len(set(ids)))
    return Gold(file, turns)


NAME = "history"


def groups(gold: Gold, truth_path: Path) -> Groups:
    """Turns with nothing before them: the questions beside the truth say so; else the first turn of a conversation."""
    firsts: dict[int | str, TurnId] = {}
    for turn in gold.turns:
        id = firsts.setdefault(turn.id.conversation, turn.id)
        if turn.id.number < id.number:
            firsts[turn.id.conversation] = turn.id
    empty = set(firsts.values())
    if input.matches(truth_path):
        empty = {talk.turns[0].id for talk in input.read(truth_path) if not talk.turns[0].history}
    ids = {turn.id for turn in gold.turns}
    split = {"empty history": frozenset(ids & empty), "with history": frozenset(ids - empty)}
    return {group: members for group, members in split.items() if members}
