"""Turns with and without a history: a breakdown of our own, and not the condition of the official QR."""

from __future__ import annotations

from pathlib import Path

from convqa.domain import TurnId
from convqa.tasks.base import Groups
from convqa.tasks.qrecc import questions
from convqa.tasks.qrecc.truth import Gold

NAME = "history"


def groups(gold: Gold, truth_path: Path) -> Groups:
    """Turns with nothing before them: the questions beside the truth say so; else the first turn of a conversation."""
    firsts: dict[int | str, TurnId] = {}
    for turn in gold.turns:
        id = firsts.setdefault(turn.id.conversation, turn.id)
        if turn.id.number < id.number:
            firsts[turn.id.conversation] = turn.id
    empty = set(firsts.values())
    if questions.matches(truth_path):
        empty = {talk.turns[0].id for talk in questions.read(truth_path) if not talk.turns[0].history}
    ids = {turn.id for turn in gold.turns}
    split = {"empty history": frozenset(ids & empty), "with history": frozenset(ids - empty)}
    return {group: members for group, members in split.items() if members}
