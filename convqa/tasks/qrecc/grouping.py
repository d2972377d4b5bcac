"""Breakdowns: groups of turns by which measures are averaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from pathlib import Path

from convqa.domain import TurnId
from convqa.tasks.base import Groups
from convqa.tasks.qrecc import input
from convqa.tasks.qrecc.truth import QReCCGold
from convqa.tasks.qrecc.unofficial import answerable

_DEPTHS = {1: "turn 1", 2: "turn 2", 4: "turns 3-4", 8: "turns 5-8", inf: "turns 9 and on"}
_HISTORY = {1: "empty history", inf: "with history"}
"""The groups by their last position."""


def breakdowns(gold: QReCCGold, path: Path) -> Mapping[str, Callable[[], Groups]]:
    """Return the breakdowns of a truth by name.

    ``depth``: the position in the conversation, which the questions in the folder of the truth tell, else the number of
    the turn. ``history``: turns with and without a history, so at a later or the first position (not the condition of
    the official QR). ``answerable``: if the truth says so.
    """
    known: dict[str, Callable[[], Groups]] = {
        "history": partial(_by_position, gold, path, _HISTORY),
        "depth": partial(_by_position, gold, path, _DEPTHS),
    }
    names = {True: "yes", False: "no", None: ""}
    verdicts = {turn.id: names[answerable(turn)] for turn in gold.turns}
    if any(verdicts.values()):
        known["answerable"] = partial(_grouped, verdicts)
    return known


def _by_position(
    gold: QReCCGold,
    path: Path,
    names: Mapping[float, str],
) -> Groups:
    """Group turns by the last position of each group."""
    positions = {turn.id: int(turn.id.number) for turn in gold.turns}
    if input.recognize(path):
        for conversation in input.read(path):
            for index, turn in enumerate(conversation.turns, 1):
                positions[turn.id] = max(index, len(turn.history) + 1)
    group_of = {}
    for truth in gold.turns:
        position = positions[truth.id]
        group_of[truth.id] = next(name for last, name in names.items() if position <= last)
    return _grouped(group_of)


def _grouped(names: Mapping[TurnId, str]) -> Groups:
    """Group turns by name, sorted; turns with an empty name are left out."""
    groups = sorted({*names.values()} - {""})
    return {group: frozenset(id for id, name in names.items() if name == group) for group in groups}
