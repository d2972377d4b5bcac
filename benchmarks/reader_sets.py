"""EM and F1 of a reader on every set of questions with contexts at hand, with intervals and a calibration curve.

    python benchmarks/reader_sets.py [--model reader] [--sets ...] [--limit N] [--data ../shared/data]

EM and F1 are SQuAD 2's, in per cent, with 95 % intervals (questions are drawn). "best span": of the questions that have
an answer, with the best span whatever its score. "decided": of all questions, with no answer where the null score is
above the best span's score. One passage a question: its own. The last table is the calibration on the first set: mean
F1 of the best span by its score, and the share that has no answer by the null score.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import mean

from _common import arguments, table
from comparing import Estimate, estimate
from questions_with_contexts import asked, em_and_f1, reported

from convqa.models import Options, SpanReader, load_reader
from convqa.models.kinds.reader import PairReading
from convqa.tasks.mrqa.contexts import Context, Question

BINS = 10


def cell(scores: Sequence[float]) -> str:
    if not scores:
        return "-"
    found: Estimate = estimate(scores)
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"


def row(name: str, reader: SpanReader, cases: list[tuple[Question, Context]]) -> tuple[list[str], list[PairReading]]:
    questions = [question for question, _ in cases]
    start = time.perf_counter()
    made = reader.read([(question.text, context.text) for question, context in cases], 1)
    seconds = time.perf_counter() - start
    said = [one.text[found.spans[0].start : found.spans[0].end] if found.spans else "" for found, (_, one) in
            zip(made, cases, strict=True)]  # fmt: skip
    answerable = [place for place, question in enumerate(questions) if question.answers]
    forced = em_and_f1([questions[place] for place in answerable], [said[place] for place in answerable])
    decided = [
        "" if reader.null(found.margin) > reader.expected(found.margin) else text
        for found, text in zip(made, said, strict=True)
    ]
    em, f = em_and_f1(questions, decided)
    empty = [place for place, question in enumerate(questions) if not question.answers]
    parts = [cell([f[place] for place in some]) if empty else "-" for some in (answerable, empty)]
    counts = f"{len(questions)} ({len(empty)})"
    cells = [*map(cell, forced), cell(em), cell(f), *parts, f"{len(questions) / seconds:.0f}"]
    return [name, counts, *cells], made


def curve(reader: SpanReader, cases: list[tuple[Question, Context]], made: list[PairReading]) -> None:
    """Means by bins of the scores."""
    spans = [(reader.expected(found.margin), question, context.text[slice(*found.spans[0][:2])])
             for found, (question, context) in zip(made, cases, strict=True) if found.spans]  # fmt: skip
    scored = [(score, best) for (score, _, _), best in zip(spans, em_and_f1(*_columns(spans))[1], strict=True)]
    scored = [(score, best / 100 if question.answers else 0.0) for (score, best), (_, question, _) in
              zip(scored, spans, strict=True)]  # fmt: skip
    nulls = [(reader.null(found.margin), float(not question.answers)) for found, (question, _) in
             zip(made, cases, strict=True)]  # fmt: skip
    print()
    head = ["score", "spans", "mean score", "mean F1", "null score: questions", "mean null score", "without an answer"]
    table(head, _bins(scored, nulls))
    for name, pairs in (("span", scored), ("null", nulls)):
        print(f"Expected calibration error of the {name} score: {_error(pairs):.3f} ({len(pairs)} questions)")


def _columns(spans: list[tuple[float, Question, str]]) -> tuple[list[Question], list[str]]:
    return [question for _, question, _ in spans], [text for _, _, text in spans]


def _bins(*kinds: list[tuple[float, float]]) -> list[list[str]]:
    rows = []
    for place in range(BINS):
        cells = [f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}"]
        for pairs in kinds:
            some = _in_bin(pairs, place)
            cells += [f"{len(some)}"] + (
                [f"{mean(a for a, _ in some):.2f}", f"{mean(b for _, b in some):.2f}"] if some else ["-", "-"]
            )
        rows.append(cells)
    return rows


def _in_bin(pairs: list[tuple[float, float]], place: int) -> list[tuple[float, float]]:
    return [pair for pair in pairs if min(BINS - 1, int(pair[0] * BINS)) == place]


def _error(pairs: list[tuple[float, float]]) -> float:
    parts = [some for place in range(BINS) if (some := _in_bin(pairs, place))]
    return sum(abs(sum(a - b for a, b in some)) for some in parts) / len(pairs)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", default="reader")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="all where not named")
    parser.add_argument("--limit", type=int, help="only the first N questions of a set")
    options = parser.parse_args()
    reader = load_reader(options.model, Options(precision=options.precision))
    print(f"{options.model}: {reader.runs}\n")
    head = ["set", "questions (unanswerable)", "best span EM", "F1", "decided EM", "F1", "F1 answerable",
            "F1 unanswerable", "questions/s"]  # fmt: skip
    first: tuple[list[tuple[Question, Context]], list[PairReading]] | None = None
    rows = []
    for name, contexts in reported(options.data).items():
        if options.sets and name not in options.sets:
            continue
        cases = asked(contexts)[: options.limit]
        made = row(name, reader, cases)
        rows.append(made[0])
        if "squad2" in name:
            first = cases, made[1]
        print(f"{name}: done", flush=True)
    table(head, rows)
    if first:
        curve(reader, *first)


if __name__ == "__main__":
    main()
