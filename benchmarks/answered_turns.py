"""The turns of the closed sets that have an answer and a gold passage at hand, with their set's history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import Exchange, Passage, Turn, TurnId


def turn(record: dict[str, Any]) -> Turn:
    context = record.get("Context", [])
    history = tuple(Exchange(*context[start : start + 2]) for start in range(0, len(context), 2))
    return Turn(TurnId(record["Conversation_no"], record["Turn_no"]), record["Question"], history)


@dataclass(frozen=True)
class Case:
    """A turn, its gold passages that are at hand, all answers that count as right, and the ids of all gold passages."""

    turn: Turn
    passages: tuple[Passage, ...]
    answers: tuple[str, ...]
    gold: tuple[str, ...]


def cases(folder: Path) -> Iterator[Case]:
    with (folder / "passages.jsonl").open(encoding="utf-8") as lines:
        passages = {record["id"]: record for record in map(json.loads, lines)}
    truth = json.loads((folder / "ground-truth.json").read_bytes())
    gold = {(record["Conversation_no"], record["Turn_no"]): record for record in truth}
    for record in json.loads((folder / "questions.json").read_bytes()):
        wanted = gold[record["Conversation_no"], record["Turn_no"]]
        answers = tuple(filter(None, wanted.get("Truth_answers") or [wanted["Truth_answer"]]))
        there = [passages[id] for id in wanted["Truth_passages"] if id in passages]
        if answers and there:
            found = tuple(Passage(one["id"], one["text"], one["title"]) for one in there)
            yield Case(turn(record), found, answers, tuple(wanted["Truth_passages"]))
