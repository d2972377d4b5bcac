"""Turns of the closed sets of conversations: question, history and gold passages.

Histories come from the set: earlier questions and gold answers (``Context``) or, in sets without contexts (cast2020,
qrecc_trec_sample), the earlier questions without answers. All rewriters therefore get the same history.
own_history.py measures the effect of a run's own answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from convqa.domain import Exchange, Turn, TurnId
from convqa.tasks import find_task

SETS = ("inscit_dev", "cast2020", "mtrag_un", "or_sharc_dev", "clapnq_dev", "qrecc_trec_sample")
TUNED = ("inscit_dev", "mtrag_un")
"""Settings are chosen on their even conversations; the odd ones are held out."""
HUMAN = ("cast2020", "qrecc_trec_sample")
"""Sets whose rewritten questions were written by people."""


@dataclass(frozen=True, slots=True)
class Case:
    """A turn, the ids of its gold passages, and its human rewrite ("" without one)."""

    turn: Turn
    relevant: tuple[str, ...]
    human: str

    @property
    def odd(self) -> bool:
        """Whether the number of its conversation is odd."""
        return int(self.turn.id.conversation) % 2 == 1


def cases(folder: Path) -> list[Case]:
    """Yield the turns of a set that have a gold passage, in order."""
    task = find_task("qrecc", folder)
    gold: dict[TurnId, tuple[str, ...]] = {turn.id: turn.passages for turn in task.gold(folder).turns}  # type: ignore[attr-defined]
    human = _human(folder) if folder.name in HUMAN else {}
    found = []
    for conversation in task.read(folder):
        said: list[Exchange] = []
        given = any(turn.history for turn in conversation.turns)
        for turn in conversation.turns:
            if relevant := gold.get(turn.id, ()):
                asked = turn if given else replace(turn, history=tuple(said))
                found.append(Case(asked, relevant, human.get(turn.id, "")))
            said.append(Exchange(turn.question, status="unanswered"))
    return found


def _human(folder: Path) -> dict[TurnId, str]:
    records = json.loads((folder / "questions-rewritten.json").read_bytes())
    return {TurnId(record["Conversation_no"], record["Turn_no"]): record["Question"] for record in records}
