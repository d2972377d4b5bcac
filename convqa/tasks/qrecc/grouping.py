"""Breakdowns: groups of turns by which measures are averaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import read_json
from convqa.tasks.base import Groups
from convqa.tasks.qrecc import input
from convqa.tasks.qrecc.truth import QReCCGold, QReCCTruth
from convqa.tasks.qrecc.unofficial import answerable

TYPES = "test-question-types.json"
"""A file in the folder of the truth: the turns of each source (quac, nq, trec), with and without a topic switch."""
_DEPTHS = ((1, "turn 1"), (2, "turn 2"), (4, "turns 3-4"), (8, "turns 5-8"))


def breakdowns(gold: QReCCGold, path: Path) -> Mapping[str, Callable[[], Groups]]:
    """Return the breakdowns of a truth by name.

    ``history``: turns with and without a history (not the condition of the official QR). ``depth``: the position in
    the conversation. ``source``: by :data:`TYPES`, if the file exists. ``answerable``: if the truth says so.
    """
    known: dict[str, Callable[[], Groups]] = {
        "history": partial(_by_history, gold, path),
        "depth": partial(_by_depth, gold, path),
    }
    if any(_answerable(turn) for turn in gold.turns):
        known["answerable"] = partial(_by, gold, _answerable)
    if (types := gold.path.parent / TYPES).is_file():
        known["source"] = partial(_by_source, gold, types)
    return known


def _by_depth(gold: QReCCGold, path: Path) -> Groups:
    """Group by position in the conversation, which the questions tell, if they are in the folder, else by number."""
    talks = input.read(path) if input.recognise(path) else ()
    depths = {turn.id: max(index, len(turn.history) + 1) for talk in talks for index, turn in enumerate(talk.turns, 1)}
    return _by(gold, lambda turn: _depth(depths.get(turn.id, turn.id.number)))


def _depth(depth: int) -> str:
    return next((name for most, name in _DEPTHS if depth <= most), "turns 9 and on")


def _answerable(turn: QReCCTruth) -> str:
    can = answerable(turn)
    return "" if can is None else "yes" if can else "no"


def _by(gold: QReCCGold, group_of: Callable[[QReCCTruth], str]) -> Groups:
    """Group turns by name, sorted; turns with an empty name are left out."""
    groups: dict[str, set[TurnId]] = {}
    for turn in gold.turns:
        if name := group_of(turn):
            groups.setdefault(name, set()).add(turn.id)
    return {name: frozenset(groups[name]) for name in sorted(groups)}


def _by_source(gold: QReCCGold, file: Path) -> Groups:
    types = read_json(file, "a JSON object {type: [turn]}")
    if not isinstance(types, dict) or not all(isinstance(turns, list) for turns in types.values()):
        raise InputError(f'{file}: expected a JSON object {{type: [turn]}}, such as {{"quac": ["81_1"]}}.')
    ids = {str(turn.id): turn.id for turn in gold.turns}
    groups = {name: frozenset(ids[turn] for turn in map(str, turns) if turn in ids) for name, turns in types.items()}
    return {name: members for name, members in groups.items() if members}


def _by_history(gold: QReCCGold, path: Path) -> Groups:
    """Turns without a history: from the questions, if they are in the folder, else the first turns."""
    ids = {turn.id for turn in gold.turns}
    if input.recognise(path):
        empty = {talk.turns[0].id for talk in input.read(path) if not talk.turns[0].history}
    else:
        backwards = sorted(ids, key=lambda id: -id.number)
        empty = set({id.conversation: id for id in backwards}.values())
    split = {
        "empty history": frozenset(ids & empty),
        "with history": frozenset(ids - empty),
    }
    return {group: members for group, members in split.items() if members}
