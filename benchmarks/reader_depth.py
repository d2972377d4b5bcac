"""Accuracy against speed: how many passages are read, in which precision, and with how much of the ranking.

    python benchmarks/reader_depth.py [--models reader FLOAT32 ...] [--limit 400] [--data ../shared/data]

Questions of the reported half of squad2 that have an answer, over all its paragraphs: BM25 ranks, the reader reads the
first 1, 3 or 10, the best span is the answer. A model's name may end in ``=bfloat16`` or ``=float32``. mu is that of
the interpolation with the ranking; "enough" stops at a span with that score.
"""

from __future__ import annotations

import time

from _common import arguments, table
from comparing import estimate
from questions_with_contexts import em_and_f1, ranked, reported

from convqa.components.readers.extractive import Extractive
from convqa.domain import Hit, Passage, Query, Ranking, Rewrite, Turn, TurnId
from convqa.tasks.mrqa.contexts import Question

WAYS = (
    ("top 1", {"passages": 1}),
    ("top 3", {"passages": 3}),
    ("top 10", {"passages": 10}),
    ("top 10, mu .7", {"passages": 10, "interpolation": 0.7}),
    ("top 10, mu .5", {"passages": 10, "interpolation": 0.5}),
    ("top 10, enough .8", {"passages": 10, "enough": 0.8}),
)


def rankings(questions: list[Question], passages: list[Passage]) -> list[Ranking]:
    found = [ranked(question, passages, 10) for question in questions]
    return [Ranking(tuple(Hit(one.id, 1.0 / (1 + place), one) for place, one in enumerate(row))) for row in found]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=["reader"])
    parser.add_argument("--limit", type=int, default=400)
    options = parser.parse_args()
    contexts = reported(options.data)["squad2, report"]
    passages = [Passage(str(number), context.text) for number, context in enumerate(contexts)]
    every = [question for context in contexts for question in context.questions if question.answers]
    questions = every[:: max(1, len(every) // options.limit)][: options.limit]
    own = {question.id: context.text for context in contexts for question in context.questions}
    rows = rankings(questions, passages)
    for depth in (1, 3, 10):
        there = [own[question.id] in [hit.passage.text for hit in row.hits[:depth] if hit.passage]
                 for question, row in zip(questions, rows, strict=True)]  # fmt: skip
        print(
            f"The right one of {len(passages)} paragraphs among the top {depth}: {100 * sum(there) / len(there):.1f} %"
        )
    turns = [Turn(TurnId(question.id, 1), question.text) for question in questions]
    rewrites = [Rewrite(question.text, (Query(question.text),)) for question in questions]
    made = []
    for name in options.models:
        model, _, precision = name.partition("=")
        for label, settings in WAYS:
            how = {"options": {"precision": precision}} if precision else {}
            station = Extractive(model=model, top_k=1, **settings, **how)  # type: ignore[arg-type]
            station.warm_up()
            start = time.perf_counter()
            readings = station.read_batch(turns, rewrites, rows)
            seconds = time.perf_counter() - start
            said = [reading.spans[0].text if reading.spans else "" for reading in readings]
            cells = [estimate(scores) for scores in em_and_f1(questions, said)]
            shown = [f"{one.mean:.1f} [{one.low:.1f}, {one.high:.1f}]" for one in cells]
            runs = station.identity()["reader"].partition(" ")[2].strip("()")
            made.append([runs, label, *shown, f"{1000 * seconds / len(questions):.0f}"])
            print("done:", made[-1], flush=True)
    table(["model", "reads", "EM", "F1", "ms a question"], made)


if __name__ == "__main__":
    main()
