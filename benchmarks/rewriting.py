"""How close are rewriters to human rewrites, and how fast? ROUGE-1 F1 and recall (QR), length, and turns/s.

    python benchmarks/rewriting.py [--data ../shared/data] [--resolver FOLDER] [--generator FOLDER] [--json FILE]

Prints tables over turns with a history. Sets are the reported half of QReCC's dev sample and CANARD's dev part, by the
written split, so that none of it trained anything (recipes/rewrites.py), and cast2020. In QReCC's sample,
earlier questions are rewritten ones and answers are gold; cast2020 has no answers. ``validation`` is the part of the
split for choosing settings. Speed: ``--timed`` turns of the first set, one at a time and in one batch.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from _common import arguments, rates, save, table
from comparing import Estimate, estimate
from conversation_sets import cases
from rewriter_rows import Description, add_options, ask, descriptions, made

from convqa.components.base import Rewriter
from convqa.domain import Exchange, Turn, TurnId
from convqa.metrics.rouge1 import rouge1, tokens
from convqa.training.examples import RewriteExample
from recipes.rewrites import split

REPORTED = ("qrecc-report", "canard-report", "cast2020")
MORE = {
    "concatenate, all": {"type": "concatenate", "init_parameters": {"max_questions": 9_999}},
    "expansion, 2 terms": {"type": "expansion", "init_parameters": {"terms": 2}},
}
"""Settings that differ for texts: fewer terms read better than they retrieve."""

Pairs = Sequence[tuple[Turn, str]]
"""Turns with a history and their human rewrites."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over the turns of a set, and the number of texts that differ from the question."""

    turns: int
    f1: Estimate
    recall: Estimate
    tokens: float
    changed: float


def sets(options: argparse.Namespace) -> dict[str, Pairs]:
    """Return pairs by set, the first ``--limit`` of each."""
    examples = split(options.data).measured
    found: dict[str, Pairs] = {}
    for name in options.sets:
        if name in examples:
            found[name] = [(turn(example, number), example.rewrite) for number, example in enumerate(examples[name])]
        else:
            rows = cases(options.data / "conversations" / name)
            found[name] = [(case.turn, case.human) for case in rows if case.turn.history]
    return {name: pairs[: options.limit] for name, pairs in found.items()}


def turn(example: RewriteExample, number: int) -> Turn:
    history = [Exchange(*said, status="answered" if said.answer else "unanswered") for said in example.history]
    return Turn(TurnId(example.conversation, number), example.question, tuple(history))


def quality(pairs: Pairs, texts: Sequence[str]) -> Quality:
    scores = [rouge1(human, text) for (_, human), text in zip(pairs, texts, strict=True)]
    changed = [text != asked.question for (asked, _), text in zip(pairs, texts, strict=True)]
    return Quality(
        len(pairs),
        estimate([score.f1 for score in scores]),
        estimate([score.recall for score in scores]),
        mean(len(tokens(text)) for text in texts),
        mean(changed),
    )


def speed(rewriter: Rewriter, turns: Sequence[Turn], rounds: int) -> dict[str, float]:
    """Return turns/s, one at a time and batched."""
    ways = {
        "one at a time": lambda: len(ask(rewriter, turns, 1)),
        "batched": lambda: len(ask(rewriter, turns, len(turns))),
    }
    return rates(ways, rounds)


def qualities(rows: dict[str, Description], found: dict[str, Pairs], record: dict[str, Any]) -> Iterator[list[str]]:
    for label, described in rows.items():
        rewriter = made(described)
        rewriter.warm_up()
        cells = [label]
        for name, pairs in found.items():
            texts = [rewrite.text for rewrite in ask(rewriter, [asked for asked, _ in pairs])]
            one = quality(pairs, texts)
            record.setdefault(label, {"rewriter": described})[name] = asdict(one)
            cells.append(
                f"{one.f1.mean:.3f} [{one.f1.low:.3f}, {one.f1.high:.3f}] / {one.recall.mean:.3f} / {one.tokens:.1f}"
            )
        yield cells


def speeds(
    rows: dict[str, Description], turns: Sequence[Turn], rounds: int, record: dict[str, Any]
) -> Iterator[list[str]]:
    for label, described in rows.items():
        rewriter = made(described)
        rewriter.warm_up()
        found = speed(rewriter, turns, rounds)
        record.setdefault(label, {})["turns/s"] = found
        single, batched = found.values()
        yield [label, f"{single:,.1f}", f"{batched:,.1f}", f"{batched / single:.1f}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(REPORTED), choices=[*REPORTED, "validation"])
    parser.add_argument("--limit", type=int, help="maximum number of turns per set")
    parser.add_argument("--timed", type=int, default=200, help="number of turns to time; 0: skip")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    add_options(parser)
    options = parser.parse_args()
    found, rows = sets(options), descriptions(options, MORE)
    record: dict[str, Any] = {}
    print("ROUGE-1 F1 [95 % interval] / recall / tokens\n")
    head = ["rewriter", *(f"{name} ({len(pairs)})" for name, pairs in found.items())]
    table(head, qualities(rows, found, record), "conversations/rewriters")
    if options.timed:
        turns = [asked for asked, _ in next(iter(found.values()))][: options.timed]
        print(f"\nturns/s, {len(turns)} turns\n")
        timed = speeds(rows, turns, options.rounds, record)
        table(["rewriter", "one at a time", "batched", "ratio"], timed, "speed/rewriters")
    save(record, options.json)


if __name__ == "__main__":
    main()
