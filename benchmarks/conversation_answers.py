"""Turns of the closed sets with an answer and an available gold passage, as input of readers and builders."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import convqa
from convqa.domain import Conversation, Exchange, Hit, Passage, Ranking, Rewrite, Turn, TurnId

PASSAGES = 10
GOLD, ALL_GOLD, RANKED = "gold", "all gold", "ranked"


@dataclass(frozen=True)
class Case:
    """A turn, its available gold passages, all accepted answers, and the ids of all gold passages."""

    turn: Turn
    passages: tuple[Passage, ...]
    answers: tuple[str, ...]
    gold: frozenset[str]


@dataclass(frozen=True)
class Asked:
    """A turn, its rewrite, the passages to read, the accepted answers and the gold ids."""

    turn: Turn
    rewrite: Rewrite
    ranking: Ranking
    answers: tuple[str, ...]
    gold: frozenset[str]

    @property
    def odd(self) -> bool:
        """Whether the number of its conversation is odd."""
        return int(self.turn.id.conversation) % 2 == 1


def cases(folder: Path) -> Iterator[Case]:
    """Return the turns of a set with its history."""
    with (folder / "passages.jsonl").open(encoding="utf-8") as lines:
        passages = {record["id"]: record for record in map(json.loads, lines)}
    truth = json.loads((folder / "ground-truth.json").read_bytes())
    truths = {(record["Conversation_no"], record["Turn_no"]): record for record in truth}
    for record in json.loads((folder / "questions.json").read_bytes()):
        id = TurnId(record["Conversation_no"], record["Turn_no"])
        wanted, context = truths[id.conversation, id.number], record.get("Context", [])
        answers = tuple(filter(None, wanted.get("Truth_answers") or [wanted["Truth_answer"]]))
        there = [passages[id] for id in wanted["Truth_passages"] if id in passages]
        if answers and there:
            history = tuple(Exchange(*context[start : start + 2]) for start in range(0, len(context), 2))
            found = tuple(Passage(one["id"], one["text"], one["title"]) for one in there)
            yield Case(Turn(id, record["Question"], history), found, answers, frozenset(wanted["Truth_passages"]))


def asked_in(folder: Path) -> dict[str, list[Asked]]:
    """Return the set's turns with the first gold passage, with all, and with the first ten that ``default`` ranks."""
    found = {case.turn.id: case for case in cases(folder)}
    conversations = [Conversation(str(id), (case.turn,)) for id, case in found.items()]
    given = any(case.turn.history for case in found.values())
    # Every way reads the ranked passages again, so the quality of this reading does not matter.
    overrides = {"retriever.top_k": PASSAGES, "reader.type": "sentences"}
    assistant = convqa.load("default", folder / "passages.jsonl", overrides)
    made: dict[str, list[Asked]] = {GOLD: [], ALL_GOLD: [], RANKED: []}
    for response in assistant.drive(conversations, "gold" if given else "none"):
        case = found[response.id]
        assert response.rewrite is not None and response.ranking is not None, response.error
        rankings = {GOLD: given_all(case.passages[:1]), ALL_GOLD: given_all(case.passages), RANKED: response.ranking}
        for where, ranking in rankings.items():
            made[where].append(Asked(case.turn, response.rewrite, ranking, case.answers, case.gold))
    if all(len(case.passages) == 1 for case in found.values()):
        del made[ALL_GOLD]
    return made


def given_all(passages: Sequence[Passage]) -> Ranking:
    return Ranking(tuple(Hit(passage.id, 1.0, passage) for passage in passages))


def columns(some: Sequence[Asked]) -> tuple[list[Turn], list[Rewrite], list[Ranking]]:
    return [one.turn for one in some], [one.rewrite for one in some], [one.ranking for one in some]


@contextmanager
def scratch_cache() -> Iterator[None]:
    """Ignore everything that was encoded or indexed before."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        yield
