"""Groups of turns: by empty history, or by any field of the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError, nearest
from convqa.tasks.qrecc import Gold, QReCC

HISTORY = "history"


def groups(gold: Gold, truth_path: Path, names: Sequence[str]) -> dict[str, dict[str, frozenset[TurnId]]]:
    """Name -> group -> its turns, groups in order of appearance.

    :raises InputError: for a name that is no field of any record.
    """
    known = [HISTORY, *dict.fromkeys(name for turn in gold.turns for name in turn.fields)]
    for name in names:
        if name not in known and gold.turns:
            raise InputError(
                f"{gold.path}: no record has the field {name!r} to break down by.{nearest(name, known)} "
                f"Known: {', '.join(known)}."
            )
    return {name: _by_history(gold, truth_path) if name == HISTORY else _by_field(gold, name) for name in names}


def _by_field(gold: Gold, name: str) -> dict[str, frozenset[TurnId]]:
    found: dict[str, list[TurnId]] = {}
    for turn in gold.turns:
        found.setdefault(_text(turn.fields, name), []).append(turn.id)
    return {group: frozenset(ids) for group, ids in found.items()}


def _text(fields: Mapping[str, Any], name: str) -> str:
    if name not in fields:
        return "(missing)"
    value = fields[name]
    if isinstance(value, str):
        return value or "(empty)"
    return json.dumps(value, ensure_ascii=False)


def _by_history(gold: Gold, truth_path: Path) -> dict[str, frozenset[TurnId]]:
    """Turns with nothing before them: the questions beside the truth say so; else the first turn of a conversation."""
    task = QReCC()
    firsts: dict[int | str, TurnId] = {}
    for turn in gold.turns:
        id = firsts.setdefault(turn.id.conversation, turn.id)
        if turn.id.number < id.number:
            firsts[turn.id.conversation] = turn.id
    empty = set(firsts.values())
    if task.matches(truth_path):
        conversations = task.read(truth_path)
        empty = {talk.turns[0].id for talk in conversations if not talk.turns[0].history}
    ids = {turn.id for turn in gold.turns}
    split = {"empty history": frozenset(ids & empty), "with history": frozenset(ids - empty)}
    return {group: members for group, members in split.items() if members}
