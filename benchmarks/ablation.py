"""How much do rewriters and retrievers gain? Every combination on closed sets of conversations.

    python benchmarks/ablation.py --work FOLDER [--resolver FOLDER] [--generator FOLDER] [--json FILE]

Prints MRR@10 and recall@100 over the turns with a gold passage. All sets use the components' defaults, which were
chosen on the even conversations of inscit_dev and mtrag_un. The odd conversations and the other sets are held out.
Histories come from the set (conversation_sets.py). ``human`` searches with the human rewrite. Differences are paired by
turn, with 95 % bootstrap intervals over turns; bold: the interval excludes 0. ``--work`` keeps the vectors of
questions, rewrites and collections. The collections are closed: compare differences on one set only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from _common import arguments, save, table
from comparing import difference, share
from conversation_sets import HUMAN, SETS, TUNED, Case, cases
from retriever_rows import TOP, Remembered, collection, everything, retrievers, search
from rewriter_rows import Description, Rewrites, add_options, descriptions

from convqa.domain import Query, Ranking, Rewrite
from convqa.metrics.ranking import recall, reciprocal_rank

AGAINST = ("copy", "expansion")


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores by turn."""

    mrr: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)

    def add(self, case: Case, ranking: Ranking) -> None:
        ids = [hit.id for hit in ranking.hits]
        self.mrr.append(reciprocal_rank(case.relevant, ids, 10))
        self.recall.append(recall(case.relevant, ids, TOP))

    def __str__(self) -> str:
        return f"{mean(self.mrr):.3f} / {mean(self.recall):.3f}"


Columns = dict[str, Scores]
"""A row of a table: name of a set, or of the odd part of one -> scores."""
Tables = dict[str, dict[str, Columns]]
"""Retriever -> rewriter -> columns."""


def measure(options: argparse.Namespace, rows: Mapping[str, Description]) -> Tables:
    rewrites, vectors = Rewrites(options.work / "rewrites"), Remembered(options.encoder, options.work)
    ways = retrievers(options.encoder, options.first)
    tables: Tables = {name: {} for name in ways}
    for name in options.sets:
        folder = options.data / "conversations" / name
        found = cases(folder)[: options.limit]
        turns = [case.turn for case in found]
        url = (
            everything(options.data, options.encoder, options.work)
            if options.together
            else collection(folder, options.encoder, options.work)
        )
        made = {label: rewrites.of(described, turns) for label, described in rows.items()}
        if name in HUMAN:
            made["human"] = [Rewrite(case.human, (Query(case.human),)) for case in found]
        for way, make in ways.items():
            retriever = make(url)
            for label, written in made.items():
                add(tables[way].setdefault(label, {}), name, found, search(retriever, turns, written))
        vectors.save()
    return tables


def add(columns: Columns, name: str, found: Sequence[Case], rankings: Sequence[Ranking]) -> None:
    """Add the scores of a set and, if the rest of it was used for tuning, of its odd conversations."""
    for case, ranking in zip(found, rankings, strict=True):
        columns.setdefault(name, Scores()).add(case, ranking)
        if name in TUNED and case.odd:
            columns.setdefault(f"{name}, odd", Scores()).add(case, ranking)


def print_tables(tables: Tables) -> None:
    for way, rows in tables.items():
        columns = {name: len(scores.mrr) for row in rows.values() for name, scores in row.items()}
        head = [f"{name} ({turns})" for name, turns in columns.items()]
        print(f"\n{way}: MRR@10 / R@100 (turns)\n")
        table(["rewriter", *head], _cells(rows, columns, lambda scores, _: str(scores)))
        for place, other in enumerate(AGAINST):
            if other in rows:
                print(f"\n{way}: MRR@10 minus that of {other}\n")
                rest = {label: row for label, row in rows.items() if label not in AGAINST[: place + 1]}
                table(["rewriter", *head], _cells(rest, columns, _minus(rows[other])))
    print_gap(tables)


def _cells(
    rows: Mapping[str, Columns], columns: Mapping[str, int], cell: Callable[[Scores, str], str]
) -> Iterator[list[str]]:
    for label, row in rows.items():
        yield [label, *(cell(row[name], name) if name in row else "-" for name in columns)]


def _minus(other: Columns) -> Callable[[Scores, str], str]:
    return lambda scores, name: str(difference(scores.mrr, other[name].mrr))


def gap(rows: Mapping[str, Columns], name: str = "cast2020") -> dict[str, float]:
    """Return the share of the gap from the question to the human rewrite that each rewriter closes, by MRR@10."""
    if name not in rows.get("copy", {}) or name not in rows.get("human", {}):
        return {}
    low, high = mean(rows["copy"][name].mrr), mean(rows["human"][name].mrr)
    return {label: share(mean(row[name].mrr), low, high) for label, row in rows.items() if name in row and high != low}


def print_gap(tables: Tables) -> None:
    shares = {way: gap(rows) for way, rows in tables.items()}
    if any(shares.values()):
        print("\ncast2020: share of the gap from copy to human, by MRR@10\n")
        labels = dict.fromkeys(label for found in shares.values() for label in found)
        table(
            ["rewriter", *shares],
            ([label, *(f"{found[label]:.0%}" for found in shares.values())] for label in labels),
        )


def to_json(tables: Tables) -> dict[str, Any]:
    results = {
        way: {
            label: {
                name: {
                    "turns": len(scores.mrr),
                    "MRR@10": mean(scores.mrr),
                    "R@100": mean(scores.recall),
                    "minus": {
                        other: asdict(difference(scores.mrr, rows[other][name].mrr))
                        for other in AGAINST
                        if other in rows and other != label
                    },
                }
                for name, scores in row.items()
            }
            for label, row in rows.items()
        }
        for way, rows in tables.items()
    }
    return {"results": results, "gap": {way: gap(rows) for way, rows in tables.items()}}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="keeps collections, rewrites and vectors")
    parser.add_argument("--encoder", default="encoder")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, metavar="SET")
    parser.add_argument("--first", type=int, nargs="+", default=[], help="also hybrid with this number of candidates")
    parser.add_argument("--together", action="store_true", help="search all sets' passages and 10,033 leads at once")
    parser.add_argument("--limit", type=int, help="maximum number of turns per set")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    add_options(parser)
    options = parser.parse_args()
    tables = measure(options, descriptions(options))
    print_tables(tables)
    save(to_json(tables), options.json)


if __name__ == "__main__":
    main()
