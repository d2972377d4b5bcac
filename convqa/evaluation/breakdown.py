"""Groups of turns: by any field of the truth, or as the task knows them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError, nearest
from convqa.tasks import Gold, Groups, Scores, Task


def groups(task: Task, gold: Gold, truth_path: Path, names: Sequence[str]) -> dict[str, Groups]:
    """Name -> group -> its turns, groups in order of appearance.

    :raises InputError: for a name that is no field of any record.
    """
    own = task.breakdowns(gold, truth_path)
    known = [*own, *dict.fromkeys(name for turn in gold.turns for name in turn.fields)]
    for name in names:
        if name not in known and gold.turns:
            raise InputError(
                f"{gold.path}: no record has the field {name!r} to break down by.{nearest(name, known)} "
                f"Known: {', '.join(known)}."
            )
    return {name: own[name]() if name in own else _by_field(gold, name) for name in names}


def split(columns: Sequence[Scores], groups: Groups) -> dict[str, list[Scores]]:
    """The scores of each group, groups in their order."""
    groups_of: dict[TurnId, list[str]] = {}
    for group, ids in groups.items():
        for id in ids:
            groups_of.setdefault(id, []).append(group)
    parts: dict[str, list[Scores]] = {group: [] for group in groups}
    for column in columns:
        for group, part in column.split(groups_of).items():
            parts[group].append(part)
    return parts


def _by_field(gold: Gold, name: str) -> Groups:
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
