"""How good, fast and large is the extractive reader?

    python benchmarks/reader.py [--model reader] [--sets ...] [--limit N] [--data ../shared/data]

Prints a table: SQuAD 2's EM and F1 in percent on every available set of questions with contexts, each question with its
own passage. "best span": questions with an answer, by the best span whatever its score. "decided": all questions,
without an answer if the null score is above the best span's. Intervals are 95 % bootstraps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

from _common import arguments, table
from comparing import estimate
from questions_with_contexts import asked, em_and_f1, reported

from convqa.models import Options, SpanReader, load_reader
from convqa.models.kinds.reader import PairReading
from convqa.tasks.mrqa.formats import Context, Question


def cell(scores: Sequence[float]) -> str:
    if not scores:
        return "-"
    found = estimate(scores)
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"


def text_of(found: PairReading, text: str) -> str:
    return text[found.spans[0].start : found.spans[0].end] if found.spans else ""


def print_sets(options: argparse.Namespace) -> None:
    reader = load_reader(options.model, Options(precision=options.precision))
    print(f"{options.model}: {reader.runs}\n")
    head = ["set", "questions (unanswerable)", "best span EM", "F1", "decided EM", "F1", "questions/s"]

    def rows() -> Iterator[list[str]]:
        for name, contexts in reported(options.data).items():
            if not options.sets or name in options.sets:
                yield [name, *one_set(reader, asked(contexts)[: options.limit])]

    table(head, rows(), "reading/sets")


def one_set(reader: SpanReader, cases: list[tuple[Question, Context]]) -> list[str]:
    """Return the cells of a set."""
    questions = [question for question, _ in cases]
    start = time.perf_counter()
    made = reader.read([(question.text, context.text) for question, context in cases], 1)
    seconds = time.perf_counter() - start
    said = [text_of(found, context.text) for found, (_, context) in zip(made, cases, strict=True)]
    spans, nulls = ([score(found.margin) for found in made] for score in (reader.expected, reader.null))
    decided = [text if null <= span else "" for text, span, null in zip(said, spans, nulls, strict=True)]
    (best_em, best_f1), (em, f) = em_and_f1(questions, said), em_and_f1(questions, decided)
    can = [bool(question.answers) for question in questions]
    forced = ([score for score, yes in zip(column, can, strict=True) if yes] for column in (best_em, best_f1))
    return [f"{len(can)} ({can.count(False)})", *map(cell, forced), cell(em), cell(f), f"{len(can) / seconds:.0f}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", default="reader")
    parser.add_argument("--sets", nargs="+", metavar="SET")
    parser.add_argument("--limit", type=int, help="maximum number of questions")
    parser.add_argument("--precision", choices=("auto", "float32", "bfloat16", "int8"), default="auto")
    print_sets(parser.parse_args())


if __name__ == "__main__":
    main()
