"""Do rewriters survive a change of topic? Puts a foreign conversation in front of each conversation.

    python benchmarks/joined.py --work FOLDER [--part odd|even] [--resolver FOLDER] [--rewriter ...] [--json FILE]

Prints tables. The history of another conversation of the same set, drawn with a fixed seed, precedes each conversation.
Its first question needs no history: the tables show how many rewriters change. Later questions need their own
conversation: ROUGE-1 F1 with the human rewrite, compared with the question as it was (cast2020), and MRR@10 of the
hybrid retriever with and without the foreign history, paired by turn, with 95 % bootstrap intervals. ``--part``: the
odd conversations of inscit_dev and mtrag_un, which are held out, or the even ones, on which settings are chosen;
cast2020 is held out entirely.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from _common import arguments, save, table
from comparing import difference, estimate
from conversation_sets import HUMAN, Case, cases
from retriever_rows import Remembered, collection, retrievers, search
from rewriter_rows import Rewrites, add_options, descriptions

from convqa.domain import Exchange, Query, Rewrite
from convqa.metrics.ranking import reciprocal_rank
from convqa.metrics.rouge1 import rouge1
from convqa.text.words import words

SETS = ("inscit_dev", "mtrag_un", "cast2020")
SEED = 7


def joined(found: Sequence[Case], seed: int = SEED) -> list[Case]:
    """Return the same turns, each with the history of another conversation of the set before its own."""
    longest: dict[Any, tuple[Exchange, ...]] = {}
    for case in found:
        said = (*case.turn.history, Exchange(case.turn.question, status="unanswered"))
        if len(said) > len(longest.get(case.turn.id.conversation, ())):
            longest[case.turn.id.conversation] = said
    chance = random.Random(seed)
    others = {name: chance.choice([other for other in longest if other != name]) for name in longest}
    return [
        replace(
            case, turn=replace(case.turn, history=(*longest[others[case.turn.id.conversation]], *case.turn.history))
        )
        for case in found
    ]


def needs_nothing(case: Case) -> bool:
    """Whether a question is the first of its conversation, or a person left it unchanged."""
    return not case.turn.history or bool(case.human and words(case.human) == words(case.turn.question))


def changed(rewrite: Rewrite, case: Case) -> bool:
    return words(rewrite.text) != words(case.turn.question)


def measured(
    found: Sequence[Case], alone: Sequence[Rewrite], after: Sequence[Rewrite], mrr: Sequence[Sequence[float]]
) -> dict[str, Any]:
    first = [index for index, case in enumerate(found) if not case.turn.history]
    later = [index for index, case in enumerate(found) if case.turn.history]
    kept = [index for index, case in enumerate(found) if needs_nothing(case)]
    record: dict[str, Any] = {"first": len(first), "later": len(later), "needs nothing": len(kept)}
    record["changed"] = mean(changed(after[i], found[i]) for i in first)
    record["needs nothing, changed"] = mean(changed(after[i], found[i]) for i in kept)
    record["needs nothing, changed alone"] = mean(changed(alone[i], found[i]) for i in kept)
    if any(case.human for case in found):
        for name, rewrites in (("alone", alone), ("after", after)):
            f1 = [rouge1(found[i].human, rewrites[i].text).f1 for i in later]
            record[f"F1 {name}"] = [estimate(f1).mean, *(round(x, 4) for x in (estimate(f1).low, estimate(f1).high))]
        record["F1 copy"] = mean(rouge1(found[i].human, found[i].turn.question).f1 for i in later)
    for part, places in (("first", first), ("later", later)):
        if places:
            record[f"minus, {part}"] = str(difference([mrr[1][i] for i in places], [mrr[0][i] for i in places]))
            record[f"MRR@10, {part}"] = [mean(row[i] for i in places) for row in mrr]
    return record


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="keeps collections, rewrites and vectors")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--part", choices=("odd", "even"), default="odd")
    parser.add_argument("--encoder", default="encoder")
    parser.add_argument("--json", type=Path)
    add_options(parser)
    options = parser.parse_args()
    rewrites, vectors = Rewrites(options.work / "rewrites"), Remembered(options.encoder, options.work)
    make = retrievers(options.encoder)["hybrid"]
    record: dict[str, dict[str, Any]] = {}
    for name in options.sets:
        found = cases(options.data / "conversations" / name)
        if name not in HUMAN:
            found = [case for case in found if case.odd == (options.part == "odd")]
        retriever = make(collection(options.data / "conversations" / name, options.encoder, options.work))
        longer = joined(found)
        for label, described in descriptions(options).items():
            made = [rewrites.of(described, [case.turn for case in some]) for some in (found, longer)]
            record.setdefault(name, {})[label] = row(found, longer, made, retriever)
        if name in HUMAN:
            human = [Rewrite(case.human, (Query(case.human),)) for case in found]
            record[name]["human"] = row(found, longer, [human, human], retriever)
        vectors.save()
    report(record)
    save(record, options.json)


def row(
    found: Sequence[Case], longer: Sequence[Case], made: Sequence[Sequence[Rewrite]], retriever: Any
) -> dict[str, Any]:
    mrr = []
    for some, rewrites in zip((found, longer), made, strict=True):
        rankings = search(retriever, [case.turn for case in some], rewrites)
        mrr.append(
            [
                reciprocal_rank(case.relevant, [hit.id for hit in ranking.hits], 10)
                for case, ranking in zip(some, rankings, strict=True)
            ]
        )
    alone, after = made
    return measured(found, alone, after, mrr)


def report(record: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    head = ["rewriter", "first changed", "needs nothing, changed (alone)", "F1 copy / alone / after"]
    head += ["MRR@10 first", "later", "after minus alone, first", "later"]
    for name, rows in record.items():
        some = next(iter(rows.values()))
        print(
            f"\n{name}: {some['first']} first questions, {some['later']} later; {some['needs nothing']} need nothing\n"
        )
        table(head, ([label, *cells(one)] for label, one in rows.items()))


def cells(one: Mapping[str, Any]) -> list[str]:
    f1 = [one["F1 copy"], one["F1 alone"][0], one["F1 after"][0]] if "F1 copy" in one else []
    return [
        f"{one['changed']:.3f}",
        f"{one['needs nothing, changed']:.3f} ({one['needs nothing, changed alone']:.3f})",
        " / ".join(f"{value:.3f}" for value in f1) or "-",
        *(" → ".join(f"{value:.3f}" for value in one[f"MRR@10, {part}"]) for part in ("first", "later")),
        *(one[f"minus, {part}"] for part in ("first", "later")),
    ]


if __name__ == "__main__":
    main()
