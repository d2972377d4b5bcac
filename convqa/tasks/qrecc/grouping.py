"""Breakdowns: groups of turns by which measures are averaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from convqa.domain import TurnId
from convqa.tasks.base import Groups
from convqa.tasks.qrecc import input
from convqa.tasks.qrecc.truth import QReCCGold
from convqa.tasks.qrecc.unofficial import answerable

_DEPTHS = {1: "turn 1", 2: "turn 2", 4: "turns 3-4", 8: "turns 5-8"}
"""The last position of each group; later turns are of a group of their own."""


def breakdowns(gold: QReCCGold, path: Path) -> Mapping[str, Callable[[], Groups]]:
    """Return the breakdowns of a truth by name.

    ``depth``: the position in the conversation, which the questions in the folder of the truth tell, else the number of
    the turn. ``history``: turns with and without a history, so at a later or the first position (not the condition of
    the official QR). ``answerable``: if the truth says so.
    """
    known: dict[str, Callable[[], Groups]] = {
        "history": partial(_by_position, gold, path, {1: "empty history"}, "with history"),
        "depth": partial(_by_position, gold, path, _DEPTHS, "turns 9 and on"),
    }
    verdicts = {turn.id: answerable(turn) for turn in gold.turns}
    if any(verdict is not None for verdict in verdicts.values()):
        names = {True: "yes", False: "no", None: ""}
        known["answerable"] = lambda: _grouped({id: names[verdict] for id, verdict in verdicts.items()})
    return known


def _by_position(
    gold: QReCCGold,
    path: Path,
    names: Mapping[int, str],
    others: str,
) -> Groups:
    """Group turns by the last position of each group, later turns under the name ``others``."""
    positions = {turn.id: turn.id.number for turn in gold.turns}
    if input.recognize(path):
        for conversation in input.read(path):
            for index, turn in enumerate(conversation.turns, 1):
                positions[turn.id] = max(index, len(turn.history) + 1)
    group_of = {}
    for truth in gold.turns:
        position = positions[truth.id]
        group_of[truth.id] = next((name for last, name in names.items() if position <= last), others)
    return _grouped(group_of)


def _grouped(names: Mapping[TurnId, str]) -> Groups:
    """Group turns by name, sorted; turns with an empty name are left out."""
    groups = sorted({*names.values()} - {""})
    return {group: frozenset(id for id, name in names.items() if name == group) for group in groups}
