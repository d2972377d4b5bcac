"""Reader and builder on the gold passage, without a collection.

    python benchmarks/reading.py [--data ../shared/data] [--sentences 1 2 3]

SQuAD F1 (maximum over the references) of sentence reader and builder on the first gold passage. The reader's settings
were chosen on the conversations of even number of inscit_dev and mtrag_un: those of odd number, and the other sets, are
the figures to trust. ``first sentences`` is the same builder without a reader.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from convqa.components.builders.sentences import Sentences as Builder
from convqa.components.readers.sentences import Sentences as Reader
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Exchange, Hit, Passage, Ranking, Turn, TurnId
from convqa.metrics.squad import f1

ROOT = Path(__file__).resolve().parents[1]
READ = ("inscit_dev", "mtrag_un", "clapnq_dev", "qrecc_trec_sample")
TUNED = {"inscit_dev", "mtrag_un"}


def turn(record: dict[str, Any]) -> Turn:
    context = record.get("Context", [])
    history = tuple(Exchange(*context[start : start + 2]) for start in range(0, len(context), 2))
    return Turn(TurnId(record["Conversation_no"], record["Turn_no"]), record["Question"], history)


@dataclass(frozen=True)
class Case:
    """A turn with its first gold passage at hand, all answers that count as right, and the ids of all gold passages."""

    turn: Turn
    passage: Passage
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
        there = [id for id in wanted["Truth_passages"] if id in passages]
        if answers and there:
            found = passages[there[0]]
            passage = Passage(found["id"], found["text"], found["title"])
            yield Case(turn(record), passage, answers, tuple(wanted["Truth_passages"]))


def score(case: Case, builder: Builder, reader: Reader | None) -> tuple[float, int]:
    """F1 and words of the answer."""
    rewrite, ranking = Expansion().rewrite(case.turn), Ranking((Hit(case.passage.id, 1.0, case.passage),))
    read = reader.read(case.turn, rewrite, ranking) if reader else None
    text = builder.build(case.turn, rewrite, ranking, read).text
    return max(f1(answer, text) for answer in case.answers), len(text.split())


def reading(options: argparse.Namespace) -> None:
    odd: dict[str, Callable[[Case], bool]] = {
        ", even": lambda case: case.turn.id.conversation % 2 == 0,
        ", odd": lambda case: case.turn.id.conversation % 2 == 1,
    }
    print("| set | turns | answer | F1 | words |\n|---|---|---|---|---|")
    for name in READ:
        found = list(cases(options.data / "conversations" / name))
        for part, chosen in odd.items() if name in TUNED else {"": lambda _: True}.items():
            some = [case for case in found if chosen(case)]
            for number in options.sentences:
                for kind, reader in (("first", None), ("best", Reader())):
                    rows = [score(case, Builder(sentences=number), reader) for case in some]
                    f, words = mean(row[0] for row in rows), mean(row[1] for row in rows)
                    print(f"| {name}{part} | {len(some)} | {kind} {number} sentences | {f:.3f} | {words:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--sentences", type=int, nargs="+", default=[1, 2, 3])
    reading(parser.parse_args())


if __name__ == "__main__":
    main()
