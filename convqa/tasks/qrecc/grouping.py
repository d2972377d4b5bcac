"""Breakdowns: groups of turns by which measures are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from convqa.domain import Conversation, TurnId
from convqa.errors import InputError
from convqa.files import read_json
from convqa.tasks.base import Groups
from convqa.tasks.qrecc import input
from convqa.tasks.qrecc.truth import QReCCGold, QReCCTruth
from convqa.tasks.qrecc.unofficial import answerable

TYPES = "test-question-types.json"
"""A file in the folder of the truth: the turns of each source (quac, nq, trec), with and without a topic switch."""
_DEPTHS = {1: "turn 1", 2: "turn 2", 4: "turns 3-4", 8: "turns 5-8"}
"""The last position of each group; later turns are of a group of their own."""


def breakdowns(gold: QReCCGold, path: Path) -> Mapping[str, Callable[[], Groups]]:
    """Return the breakdowns of a truth by name.

    ``history``: turns with and without a history (not the condition of the official QR). ``depth``: the position in
    the conversation. ``source``: by :data:`TYPES`, if the file exists. ``answerable``: if the truth says so.
    """
    known: dict[str, Callable[[], Groups]] = {
        "history": partial(_by_history, gold, path),
        "depth": partial(_by_depth, gold, path),
    }
    if any(answerable(turn) is not None for turn in gold.turns):
        known["answerable"] = partial(_by, gold, _answerable)
    types = gold.path.parent / TYPES
    if types.is_file():
        known["source"] = partial(_by_source, gold, types)
    return known


def _by(gold: QReCCGold, group_of: Callable[[QReCCTruth], str]) -> Groups:
    """Group turns by name, sorted; turns with an empty name are left out."""
    groups: dict[str, set[TurnId]] = {}
    for turn in gold.turns:
        name = group_of(turn)
        if name:
            groups.setdefault(name, set()).add(turn.id)
    return {name: frozenset(groups[name]) for name in sorted(groups)}


def _answerable(turn: QReCCTruth) -> str:
    return {True: "yes", False: "no", None: ""}[answerable(turn)]


def _by_depth(gold: QReCCGold, path: Path) -> Groups:
    """Group by position in the conversation, which the questions tell, if they are in the folder, else by number."""
    positions = {}
    for conversation in _questions(path):
        for index, turn in enumerate(conversation.turns, 1):
            positions[turn.id] = max(index, len(turn.history) + 1)

    def depth(turn: QReCCTruth) -> str:
        position = positions.get(turn.id, turn.id.number)
        return next(
            (name for last, name in _DEPTHS.items() if position <= last),
            "turns 9 and on",
        )

    return _by(gold, depth)


def _by_history(gold: QReCCGold, path: Path) -> Groups:
    """Turns without a history: from the questions, if they are in the folder, else the first turns."""
    without = {conversation.turns[0].id for conversation in _questions(path) if not conversation.turns[0].history}
    if not input.recognize(path):
        first: dict[int | str, TurnId] = {}
        for turn in sorted(gold.turns, key=lambda turn: turn.id.number):
            first.setdefault(turn.id.conversation, turn.id)
        without = set(first.values())
    return _by(
        gold,
        lambda turn: "empty history" if turn.id in without else "with history",
    )


def _by_source(gold: QReCCGold, file: Path) -> Groups:
    types = read_json(file, "a JSON object {type: [turn]}")
    if not isinstance(types, dict) or not all(isinstance(turns, list) for turns in types.values()):
        raise InputError(f'{file}: expected a JSON object {{type: [turn]}}, such as {{"quac": ["81_1"]}}.')
    ids = {str(turn.id): turn.id for turn in gold.turns}
    groups = {}
    for name, turns in types.items():
        members = frozenset(ids[turn] for turn in map(str, turns) if turn in ids)
        if members:
            groups[name] = members
    return groups


def _questions(path: Path) -> Iterable[Conversation]:
    """Return the questions in the folder of the truth, if they are there."""
    return input.read(path) if input.recognize(path) else ()
