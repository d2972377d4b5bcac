"""How good are the pipelines end to end? Runs them over six sets of conversations by the command line.

    python benchmarks/conversations.py [--sets inscit_dev ...] [--pipelines copy-bm25 ...] [--data ../shared/data]

Prints a Markdown table. Every row is a ``convqa run`` over the set's folder, scored against its ground-truth.json with
the official measures. copy-bm25 answers the human rewrites. Histories are the run's own. inscit_dev, which gives
contexts in conversations of several turns, is also run with gold history. The collections are closed (most passages are
gold for some question): compare differences on one set only.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from _common import arguments, convqa, table

from convqa.evaluation import Evaluation, evaluate

SETS = ("inscit_dev", "cast2020", "mtrag_un", "or_sharc_dev", "clapnq_dev", "qrecc_trec_sample")
PIPELINES = ("copy-bm25", "concat-bm25", "expansion-bm25", "default")
REWRITTEN = {
    "cast2020": "human rewrites",
    "qrecc_trec_sample": "human rewrites",
    "or_sharc_dev": "scenario + question",
}
GOLD_HISTORY = {"inscit_dev"}
MEASURES = ("QR", "MRR", "MRR@10", "R@100", "F1", "ROUGE1-R")


@dataclass(frozen=True)
class Row:
    """A run: its questions, pipeline and history."""

    set: str
    pipeline: str
    questions: str = "questions.json"
    history: str = "own"
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.pipeline


def rows(sets: list[str], pipelines: list[str]) -> Iterator[Row]:
    for name in sets:
        for pipeline in pipelines:
            yield Row(name, pipeline)
        if name in GOLD_HISTORY:
            yield Row(name, "expansion-bm25", history="gold", label="expansion-bm25, gold history")
        if name in REWRITTEN:
            yield Row(name, "copy-bm25", "questions-rewritten.json", label=f"copy-bm25, {REWRITTEN[name]}")


def measure(row: Row, folder: Path, scratch: Path) -> Evaluation:
    """Run and evaluate.

    :raises SystemExit: if the run or one of its turns fails.
    """
    output = scratch / f"{row.set}-{row.name}".replace(" ", "-")
    options = ["--pipeline", row.pipeline, "--history", row.history, "--collection", folder / "passages.jsonl"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache")}
    convqa("run", folder / row.questions, output, "--task", "qrecc", *options, "--quiet", env=environment)
    return evaluate(folder, output)


def cell(row: Row, measured: Evaluation, name: str) -> str:
    """Format a mean, or a dash if the set has no truth for it (human rewrites are their own truth)."""
    found = measured.summaries.get(name)
    if found is None or (name == "QR" and row.questions != "questions.json"):
        return "-"
    return f"{found.mean:.3f}"


def turns(measured: Evaluation) -> str:
    """Return the number of turns behind QR, MRR and F1."""
    counts = (measured.summaries.get(name) for name in ("QR", "MRR", "F1"))
    return " / ".join("-" if found is None else str(found.turns) for found in counts)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, metavar="SET")
    parser.add_argument("--pipelines", nargs="+", default=list(PIPELINES), metavar="NAME")
    options = parser.parse_args()

    def lines(scratch: Path) -> Iterator[list[str]]:
        for row in rows(options.sets, options.pipelines):
            measured = measure(row, options.data / "conversations" / row.set, scratch)
            yield [row.set, row.name, *(cell(row, measured, name) for name in MEASURES), turns(measured)]

    with tempfile.TemporaryDirectory() as scratch:
        table(["set", "pipeline", *MEASURES, "turns of QR / MRR / F1"], lines(Path(scratch)), "conversations/six-sets")


if __name__ == "__main__":
    main()
