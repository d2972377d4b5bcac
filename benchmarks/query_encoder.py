"""The query encoder: MRR@10 of `hybrid` with and without it, in collections whose passages all have vectors.

    python benchmarks/query_encoder.py CONVERSATIONS [--model FOLDER]

CONVERSATIONS holds sets in the shared task's form with `passages.jsonl`. The history is that of the set: its `Context`,
else the earlier questions with the true answers. Sets that trained the model are cut: `doc2dial_a` to every tenth
conversation; `mtrag_un` and `inscit_dev` are shown by halves.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import convqa
from convqa.components.retrievers.hybrid import Hybrid
from convqa.components.rewriters.copy import Copy
from convqa.components.rewriters.edit import Edit
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Exchange, Turn, TurnId

SETS = ("cast2020", "qrecc_trec_sample", "inscit_dev", "mtrag_un", "doc2dial_a")
HALVED = ("inscit_dev", "mtrag_un")
TENTH = "doc2dial_a"
REWRITERS = {"copy": Copy(), "expansion": Expansion(), "edit": Edit()}


def turns_of(folder: Path) -> list[tuple[Turn, list[str]]]:
    """Return the turns of a set that have gold passages, each with these."""
    truths: dict[tuple[int, int], Any] = {}
    for truth in json.loads((folder / "ground-truth.json").read_bytes()):
        truths[truth["Conversation_no"], truth["Turn_no"]] = truth
    said: dict[int, list[Exchange]] = defaultdict(list)
    turns = []
    for asked in json.loads((folder / "questions.json").read_bytes()):
        number = asked["Conversation_no"]
        truth = truths.get((number, asked["Turn_no"]), {})
        context = asked.get("Context") or []
        history = [Exchange(*context[start : start + 2]) for start in range(0, len(context), 2)] or said[number]
        gold = truth.get("Truth_passages") or []
        if gold and (folder.name != TENTH or number % 10 == 0):
            turns.append((Turn(TurnId(number, asked["Turn_no"]), asked["Question"], tuple(history)), gold))
        said[number].append(Exchange(asked["Question"], truth.get("Truth_answer") or ""))
    return turns


def reciprocal_ranks(retriever: Hybrid, rewriter: Any, rows: list[tuple[Turn, list[str]]]) -> list[float]:
    turns = [turn for turn, _ in rows]
    rankings = retriever.retrieve_batch(turns, rewriter.rewrite_batch(turns))
    ranks = []
    for (_, gold), ranking in zip(rows, rankings, strict=True):
        ranks.append(next((1 / rank for rank, hit in enumerate(ranking.hits[:10], 1) if hit.id in gold), 0.0))
    return ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conversations", type=Path)
    parser.add_argument("--model", default="query_encoder")
    arguments = parser.parse_args()
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    for name in SETS:
        folder = arguments.conversations / name
        rows = turns_of(folder)
        with tempfile.TemporaryDirectory() as aside:
            url = f"{aside}/collection"
            convqa.index(folder / "passages.jsonl", collection=url)
            for label, rewriter in REWRITERS.items():
                for model in (None, arguments.model):
                    retriever = Hybrid(url, query_encoder=model, max_texts=0)
                    ranks = reciprocal_ranks(retriever, rewriter, rows)
                    parts = {name: range(2)} if name not in HALVED else {f"{name}, even": (0,), f"{name}, odd": (1,)}
                    row = cells[f"{label}, query encoder" if model else label]
                    for part, rests in parts.items():
                        pairs = zip(ranks, rows, strict=True)
                        own = [rank for rank, (turn, _) in pairs if int(turn.id.conversation) % 2 in rests]
                        row[f"{part} ({len(own)})"] = f"{np.mean(own):.3f}"
    names = list(next(iter(cells.values())))
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for label, row in cells.items():
        print(f"| {label} | {' | '.join(row[name] for name in names)} |")


if __name__ == "__main__":
    main()
