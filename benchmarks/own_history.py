"""How much do a run's own earlier answers cost? Compares each rewriter with its own and with the given history.

    python benchmarks/own_history.py --work FOLDER [--resolver FOLDER] [--json FILE]

Prints a table. INSCIT's dev set, which gives contexts in conversations of several turns, runs through the pipeline
``hybrid``, so earlier answers come from its reader and builder. Scores are over the turns with a gold passage. The loss
is paired by turn, with a 95 % bootstrap interval over turns; bold: the interval excludes 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, Literal

from _common import arguments, save, table
from ablation import Scores
from comparing import difference
from conversation_sets import cases
from retriever_rows import Remembered, collection
from rewriter_rows import Description, add_options, descriptions

from convqa import load
from convqa.tasks import find_task

SET = "inscit_dev"


def overrides(described: Description, encoder: str) -> dict[str, Any]:
    """Return a row as settings of the pipeline."""
    own = {f"rewriter.{name}": value for name, value in (described.get("init_parameters") or {}).items()}
    return {"rewriter.type": described["type"], **own, "retriever.encoder": encoder}


def run(options: argparse.Namespace, parameters: Mapping[str, Any], history: Literal["own", "gold"]) -> Scores:
    """Return a run's scores by turn with a gold passage.

    :raises SystemExit: if a turn fails.
    """
    folder = options.data / "conversations" / SET
    assistant = load("hybrid", collection(folder, options.encoder, options.work), parameters)
    conversations = list(find_task("qrecc", folder).read(folder))[: options.limit]
    responses = {response.id: response for response in assistant.drive(conversations, history)}
    scores = Scores()
    for case in cases(folder):
        response = responses.get(case.turn.id)
        if response is not None:
            if response.ranking is None:
                raise SystemExit(f"turn {response.id}: {response.error}")
            scores.add(case, response.ranking)
    return scores


def losses(options: argparse.Namespace, rows: Mapping[str, Description], record: dict[str, Any]) -> Iterator[list[str]]:
    vectors = Remembered(options.encoder, options.work)
    for label, described in rows.items():
        parameters = overrides(described, options.encoder)
        gold, own = run(options, parameters, "gold"), run(options, parameters, "own")
        lost = difference(own.mrr, gold.mrr)
        vectors.save()
        record[label] = {"gold": mean(gold.mrr), "own": mean(own.mrr), "loss": [lost.mean, lost.low, lost.high]}
        yield [label, str(gold), str(own), str(lost), f"{mean(own.recall) - mean(gold.recall):+.3f}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="keeps collections and vectors")
    parser.add_argument("--encoder", default="encoder")
    parser.add_argument("--limit", type=int, help="maximum number of conversations")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    add_options(parser)
    options = parser.parse_args()
    record: dict[str, Any] = {}
    print(f"{SET}: MRR@10 / R@100\n")
    head = ["rewriter", "given history", "own history", "MRR@10 own minus given", "R@100"]
    table(head, losses(options, descriptions(options), record), "conversations/own-history")
    save(record, options.json)


if __name__ == "__main__":
    main()
