"""Single stations on real data, without a collection: rewriters beside human rewrites, the reader on gold passages.

    python benchmarks/stations.py rewriting [--data ../shared/data]
    python benchmarks/stations.py reading [--data ../shared/data] [--sentences 1 2 3]

``rewriting``: ROUGE-1 recall (QR) and F1 of a rewrite's text against the human rewrite, and its words, over the turns
of QReCC's held-out dev sample that have a history (earlier questions are rewritten ones there, earlier answers gold).
``reading``: SQuAD F1 (maximum over the references) of sentence reader and builder on the first gold passage. The
reader's settings were chosen on the conversations of even number of inscit_dev and mtrag_un: those of odd number, and
the other sets, are the figures to trust. ``first sentences`` is the same builder without a reader.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from convqa.components.base import Rewriter
from convqa.components.builders.sentences import Sentences as Builder
from convqa.components.readers.sentences import Sentences as Reader
from convqa.components.rewriters.concatenate import Concatenate
from convqa.components.rewriters.copy import Copy
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Exchange, Hit, Passage, Ranking, Turn, TurnId
from convqa.metrics.rouge1 import rouge1
from convqa.metrics.squad import f1

ROOT = Path(__file__).resolve().parents[1]
READ = ("inscit_dev", "mtrag_un", "clapnq_dev", "qrecc_trec_sample")
TUNED = {"inscit_dev", "mtrag_un"}


def history(context: list[str]) -> tuple[Exchange, ...]:
    return tuple(Exchange(*context[start : start + 2]) for start in range(0, len(context), 2))


def turn(record: dict[str, Any], context: list[str]) -> Turn:
    return Turn(TurnId(record["Conversation_no"], record["Turn_no"]), record["Question"], history(context))


def rewriting(options: argparse.Namespace) -> None:
    records = json.loads((options.data / "qrecc" / "dev-turns.json").read_bytes())
    turns = [
        (turn(record, record["NewContext"]), record["Truth_rewrite"]) for record in records if record["NewContext"]
    ]
    rewriters: dict[str, Rewriter] = {
        "copy": Copy(),
        "concatenate, first 1": Concatenate(first=1, last=0),
        "concatenate, last 1": Concatenate(first=0, last=1),
        "concatenate, all": Concatenate(first=9_999),
        "expansion, 2 terms": Expansion(terms=2),
        "expansion, 5 terms": Expansion(terms=5),
    }
    print(f"| rewriter, {len(turns)} turns | QR | ROUGE-1 F1 | words | ms a turn |\n|---|---|---|---|---|")
    for name, rewriter in rewriters.items():
        start = time.perf_counter()
        texts = [rewriter.rewrite(asked).text for asked, _ in turns]
        spent = 1000 * (time.perf_counter() - start) / len(turns)
        scores = [rouge1(truth, text) for text, (_, truth) in zip(texts, turns, strict=True)]
        recall, f = mean(score.recall for score in scores), mean(score.f1 for score in scores)
        print(f"| {name} | {recall:.3f} | {f:.3f} | {mean(len(text.split()) for text in texts):.1f} | {spent:.2f} |")


@dataclass(frozen=True)
class Case:
    """A turn with its first gold passage and all answers that count as right."""

    turn: Turn
    passage: Passage
    answers: tuple[str, ...]


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
            yield Case(turn(record, record.get("Context", [])), passage, answers)


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
    parser.add_argument("what", choices=("rewriting", "reading"))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--sentences", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    {"rewriting": rewriting, "reading": reading}[options.what](options)


if __name__ == "__main__":
    main()
