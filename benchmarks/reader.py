"""How good, fast and large is the extractive reader?

    python benchmarks/reader.py sets [--models reader] [--sets ...] [--limit N] [--data ../shared/data]
    python benchmarks/reader.py haystack --models TORCH_FOLDER FLOAT32_FOLDER [INT8_FOLDER] [--limit 200]

Prints tables. Intervals are 95 % bootstraps.

``sets``: SQuAD 2's EM and F1 in percent on every available set of questions with contexts, each question with its own
passage. "best span": questions with an answer, by the best span whatever its score. "decided": all questions, without
an answer if the null score is above the best span's.

``haystack``: the same weights in Haystack's TransformersExtractiveReader. TORCH_FOLDER is a transformers reader,
FLOAT32_FOLDER its ``convqa models export``. Each question has
its paragraph and the nine others that BM25 ranks first; both readers read all ten and return the best span. Each way
runs in its own process, for each half of the questions in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import mean
from typing import Any

from _common import arguments, own_process, peak_mb, table
from comparing import difference, estimate
from conversation_answers import PASSAGES
from questions_with_contexts import asked, em_and_f1, ranked, reported

from convqa.domain import Passage
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


def sets(options: argparse.Namespace) -> None:
    reader = load_reader(options.models[0], Options(precision=options.precision))
    print(f"{options.models[0]}: {reader.runs}\n")
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


def spread(contexts: Sequence[Context], limit: int) -> list[tuple[Question, str]]:
    """Return this many questions with an answer, evenly spread, each with its context's text."""
    every = [(question, one.text) for one in contexts for question in one.questions if question.answers]
    return every[:: max(1, len(every) // limit)][:limit]


Case = tuple[Question, list[str]]
Answer = Callable[[list[Case]], list[str]]


def ten_passages(options: argparse.Namespace) -> list[Case]:
    contexts = reported(options.data)["SQuADShifts Amazon"]
    passages = [Passage(str(place), context.text) for place, context in enumerate(contexts)]
    found = []
    for question, own in spread(contexts, options.limit or 200):
        texts = [one.text for one in ranked(question, passages, PASSAGES)]
        found.append((question, texts if own in texts else [*texts[: PASSAGES - 1], own]))
    return found


def theirs(folder: str) -> Answer:
    from haystack import Document
    from haystack_integrations.components.readers.transformers import TransformersExtractiveReader

    reader = TransformersExtractiveReader(model=folder, top_k=1, no_answer=False, max_seq_length=384, stride=128)
    reader.warm_up()

    def answer(some: list[Case]) -> list[str]:
        said = []
        for question, texts in some:
            documents = [Document(id=str(place), content=text) for place, text in enumerate(texts)]
            answers = reader.run(query=question.text, documents=documents)["answers"]
            said.append(answers[0].data or "" if answers else "")
        return said

    return answer


def ours(folder: str, precision: str) -> Answer:
    reader = load_reader(folder, Options(precision=precision))  # type: ignore[arg-type]

    def answer(some: list[Case]) -> list[str]:
        pairs = [(question.text, text) for question, texts in some for text in texts]
        made = iter(zip(pairs, reader.read(pairs, 1), strict=True))
        said = []
        for _, texts in some:
            (_, text), found = max((next(made) for _ in texts), key=lambda row: row[1].margin)
            said.append(text_of(found, text))
        return said

    return answer


def read_ten(options: argparse.Namespace, way: str, folder: str, first: str, last: str) -> dict[str, Any]:
    """Measure one way on some of the questions: seconds, memory and answers."""
    some = ten_passages(options)[int(first) : int(last)]
    answer = theirs(folder) if way == "haystack" else ours(folder, way)
    answer(some[:2])
    loaded, start = peak_mb(), time.perf_counter()
    said = answer(some)
    return {"seconds": time.perf_counter() - start, "loaded": loaded, "peak": peak_mb(), "said": said}


def haystack(options: argparse.Namespace) -> None:
    torch_folder, float32_folder, int8_folder = [*options.models, "reader"][:3]
    ways = {
        "haystack, float32": ("haystack", torch_folder),
        "convqa, torch float32": ("float32", torch_folder),
        "convqa, ONNX Runtime float32": ("float32", float32_folder),
        "convqa, ONNX Runtime int8": ("int8", int8_folder),
    }
    questions = [question for question, _ in ten_passages(options)]
    made: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    given = ["--data", options.data, "--limit", len(questions)]
    for first, last in ((0, len(questions) // 2), (len(questions) // 2, len(questions))):
        for name, (way, folder) in ways.items():
            work = ["haystack", *given, "--work", way, folder, first, last]
            made[name].append(own_process(__file__, *work, env={**os.environ, "HF_HUB_OFFLINE": "1"}))
    scores = {n: em_and_f1(questions, [text for part in parts for text in part["said"]]) for n, parts in made.items()}
    seconds = {name: sum(part["seconds"] for part in parts) for name, parts in made.items()}
    base = "haystack, float32"

    def rows() -> Iterator[list[str]]:
        for name, parts in made.items():
            loaded, peak = max(part["loaded"] for part in parts), max(part["peak"] for part in parts)
            cells = [f"{mean(values):.1f}" for values in scores[name]]
            beside = [str(difference(*pair)) for pair in zip(scores[name], scores[base], strict=True)]
            speed = f"{PASSAGES * len(questions) / seconds[name]:.1f}", f"{seconds[base] / seconds[name]:.2f}"
            yield [name, *speed, f"{loaded:.0f}", f"{peak - loaded:.0f}", *cells, *beside]

    print(f"{len(questions)} questions x {PASSAGES} passages, {os.cpu_count()} cores")
    head = ["reader", "pairs/s", "times Haystack", "MB loaded", "MB more at the peak"]
    table([*head, "EM", "F1", "EM - Haystack", "F1 - Haystack"], rows(), "reading/haystack")


PARTS = {"sets": sets, "haystack": haystack}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=PARTS)
    parser.add_argument("--models", nargs="+", default=["reader"])
    parser.add_argument("--sets", nargs="+", metavar="SET", help="of sets")
    parser.add_argument("--limit", type=int, help="maximum number of questions")
    parser.add_argument("--precision", choices=("auto", "float32", "bfloat16", "int8"), default="auto", help="of sets")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(read_ten(options, *options.work)))
    else:
        PARTS[options.what](options)


if __name__ == "__main__":
    main()
