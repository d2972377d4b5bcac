"""Turns/s of the whole pipeline ``hybrid`` (rewriter to builder) with each rewriter, batched and one at a time.

    python benchmarks/pipeline_speed.py --collection FOLDER [--data ../shared/data] [--resolver FOLDER] [--only edit]

The collection is one with vectors, such as hybrid_speed.py makes of 27,065 passages (``--collection`` there). The turns
are those of INSCIT's dev set that have a history, with the history that it gives, each as a conversation of its own, so
that all can be asked at once; one at a time, the first 60 of them. ``ms a turn`` is of one at a time. The last row is
the pipeline ``default``, which is ``hybrid`` with sentences chosen by words and vectors. Every text is encoded anew in
every round; what a run saves by what was encoded before is in docs/benchmarks/speed.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from _common import arguments, rates, table
from own_history import overrides
from retriever_rows import forget, read_settings
from rewriter_rows import BATCH, Description, add_options, descriptions

import convqa
from convqa.domain import Conversation
from convqa.qa import QA
from convqa.tasks import find_task

FEW = 60


def conversations(data: Path) -> list[Conversation]:
    folder = data / "conversations" / "inscit_dev"
    turns = [turn for conversation in find_task("qrecc", folder).read(folder) for turn in conversation.turns]
    # A first turn has nothing to rewrite.
    return [Conversation(str(turn.id), (turn,)) for turn in turns if turn.history]


def asking(assistant: QA, asked: Sequence[Conversation], size: int) -> Callable[[], int]:
    """Work that answers all of them, ``size`` at a time.

    :raises SystemExit: if a turn fails.
    """

    def work() -> int:
        for response in assistant.drive(asked, "gold", size):
            if response.error is not None:
                sys.exit(f"turn {response.id}: {response.error}")
        return len(asked)

    return work


def speeds(options: argparse.Namespace, rows: Mapping[str, Description], record: dict[str, Any]) -> Iterator[list[str]]:
    asked = conversations(options.data)[: options.limit]
    settings = read_settings(options.settings)
    loaded = {
        label: lambda described=described, label=label: convqa.load(
            "hybrid", options.collection, overrides(described, settings, label, options.encoder)
        )
        for label, described in rows.items()
    }
    loaded["edit, as default"] = lambda: convqa.load("default", options.collection)
    forget(options.encoder)
    for label, load in loaded.items():
        assistant = load()
        ways = {
            "one at a time": asking(assistant, asked[:FEW], 1),
            "batched": asking(assistant, asked, BATCH),
        }
        record[label] = found = rates(ways, options.rounds)
        single, batched = found.values()
        yield [label, f"{single:,.1f}", f"{1000 / single:,.0f}", f"{batched:,.1f}", f"{batched / single:.1f}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--collection", required=True)
    parser.add_argument("--encoder", default="encoder")
    parser.add_argument("--settings", type=Path, help="what ablation.py --tune wrote")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, help="only so many turns")
    parser.add_argument("--json", type=Path, help="the same figures in a file")
    add_options(parser)
    options = parser.parse_args()
    record: dict[str, Any] = {}
    head = ["rewriter", "one at a time, turns/s", "ms a turn", "batched, turns/s", "ratio"]
    table(head, speeds(options, descriptions(options), record))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
