"""Groups of turns by which measures are broken down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import read_json
from convqa.tasks.base import Groups
from convqa.tasks.qrecc import input
from convqa.tasks.qrecc.refusing import answerable
from convqa.tasks.qrecc.truth import Gold, GoldTurn

TYPES = "test-question-types.json"
"""A file beside the truth: the turns of each source (quac, nq, trec), and those with and without a switch of topic."""
_DEPTHS = ((1, "turn 1"), (2, "turn 2"), (4, "turns 3-4"), (8, "turns 5-8"))


def breakdowns(gold: Gold, path: Path) -> Mapping[str, Callable[[], Groups]]:
    """``history``: turns with and without one; ours, and not the condition of the official QR. ``depth``: the
    turn's place in its conversation. ``source``: what :data:`TYPES` says, where it is there. ``answerable``: where the
    truth says so.
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


def _by_depth(gold: Gold, path: Path) -> Groups:
    """The questions beside the truth tell what was before, which may be more than the turns; else the turn's number."""
    talks = input.read(path) if input.recognise(path) else ()
    places = {turn.id: max(place, len(turn.history) + 1) for talk in talks for place, turn in enumerate(talk.turns, 1)}
    return _by(gold, lambda turn: _depth(places.get(turn.id, turn.id.number)))


def _depth(place: int) -> str:
    return next((name for most, name in _DEPTHS if place <= most), "turns 9 and on")


def _answerable(turn: GoldTurn) -> str:
    can = answerable(turn)
    return "" if can is None else "yes" if can else "no"


def _by(gold: Gold, group_of: Callable[[GoldTurn], str]) -> Groups:
    """Groups by their names, in the order of these; turns without one are left out."""
    groups: dict[str, set[TurnId]] = {}
    for turn in gold.turns:
        if name := group_of(turn):
            groups.setdefault(name, set()).add(turn.id)
    return {name: frozenset(groups[name]) for name in sorted(groups)}


def _by_source(gold: Gold, file: Path) -> Groups:
    types = read_json(file, "a JSON object {type: [turn]}")
    if not isinstance(types, dict) or not all(isinstance(turns, list) for turns in types.values()):
        raise InputError(f'{file}: wanted a JSON object {{type: [turn]}}, such as {{"quac": ["81_1"]}}.')
    ids = {str(turn.id): turn.id for turn in gold.turns}
    groups = {name: frozenset(ids[turn] for turn in map(str, turns) if turn in ids) for name, turns in types.items()}
    return {name: members for name, members in groups.items() if members}


def _by_history(gold: Gold, path: Path) -> Groups:
    """Turns with nothing before them: the questions beside the truth tell; else the first turn of a conversation."""
    ids = {turn.id for turn in gold.turns}
    if input.recognise(path):
        empty = {talk.turns[0].id for talk in input.read(path) if not talk.turns[0].history}
    else:
        backwards = sorted(ids, key=lambda id: -id.number)
        empty = set({id.conversation: id for id in backwards}.values())
    split = {"empty history": frozenset(ids & empty), "with history": frozenset(ids - empty)}
    return {group: members for group, members in split.items() if members}
