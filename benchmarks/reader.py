"""How good, fast and large is the extractive reader?

    python benchmarks/reader.py sets [--models reader] [--sets ...] [--limit N] [--data ../shared/data]
    python benchmarks/reader.py haystack --models TORCH_FOLDER FLOAT32_FOLDER [INT8_FOLDER] [--limit 200]
    python benchmarks/reader.py growth [--passages 10 100 1000] [--tokens 100 400 1600 8000]

Prints tables. Intervals are 95 % bootstraps.

``sets``: SQuAD 2's EM and F1 in percent on every available set of questions with contexts, each question with its own
passage. "best span": questions with an answer, by the best span whatever its score. "decided": all questions, without
an answer if the null score is above the best span's. Then the calibration of both scores on squad2.

``haystack``: the same weights in Haystack's TransformersExtractiveReader. TORCH_FOLDER is a transformers reader,
FLOAT32_FOLDER its ``convqa models export``. Each question has
its paragraph and the nine others that BM25 ranks first; both readers read all ten and return the best span. Each way
runs in its own process, for each half of the questions in turn.

``growth``: time and memory above that after loading, for one question, each row in its own process. Passages have about
120 tokens; contexts of the given tokens are read ten per turn.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import mean
from typing import Any

from _common import Figures, arguments, own_process, peak_mb, table
from comparing import difference, estimate
from conversation_answers import PASSAGES, given_all
from questions_with_contexts import asked, em_and_f1, ranked, reported

from convqa.components.readers.extractive import Extractive
from convqa.domain import Passage, Query, Ranking, Rewrite, Turn, TurnId
from convqa.models import Options, SpanReader, load_reader
from convqa.models.kinds.reader import PairReading
from convqa.places import shipped
from convqa.tasks.mrqa.formats import Context, Question

BINS = 10
SHORT = 120
QUESTION = "What did the people of the city think about the new law?"

Pairs = Sequence[tuple[float, float]]
"""Scores, and what they should be."""


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
    calibration: dict[str, Pairs] = {}

    def rows() -> Iterator[list[str]]:
        for name, contexts in reported(options.data).items():
            if not options.sets or name in options.sets:
                cells, scored = one_set(reader, asked(contexts)[: options.limit])
                yield [name, *cells]
                if "squad2" in name:
                    calibration.update(scored)

    table(head, rows(), "reading/sets")
    for name, pairs in calibration.items():
        print(f"Expected calibration error of the {name} score: {error(pairs):.3f} ({len(pairs)} questions)")


def one_set(reader: SpanReader, cases: list[tuple[Question, Context]]) -> tuple[list[str], dict[str, Pairs]]:
    """Return the cells of a set, the spans' scores with their F1, and null scores with whether there is no answer."""
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
    cells = [f"{len(can)} ({can.count(False)})", *map(cell, forced), cell(em), cell(f), f"{len(can) / seconds:.0f}"]
    right = [score / 100 if yes else 0.0 for score, yes in zip(best_f1, can, strict=True)]
    held = [(span, score) for span, score, found in zip(spans, right, made, strict=True) if found.spans]
    return cells, {"span": held, "null": [(null, float(not yes)) for null, yes in zip(nulls, can, strict=True)]}


def error(pairs: Pairs) -> float:
    """Return the expected calibration error, in bins of equal width."""
    bins: dict[int, list[float]] = {}
    for score, truth in pairs:
        bins.setdefault(min(BINS - 1, int(score * BINS)), []).append(score - truth)
    return sum(abs(sum(some)) for some in bins.values()) / len(pairs)


def spread(contexts: Sequence[Context], limit: int) -> list[tuple[Question, str]]:
    """Return this many questions with an answer, evenly spread, each with its context's text."""
    every = [(question, one.text) for one in contexts for question in one.questions if question.answers]
    return every[:: max(1, len(every) // limit)][:limit]


Case = tuple[Question, list[str]]
Answer = Callable[[list[Case]], list[str]]


def ten_passages(options: argparse.Namespace) -> list[Case]:
    contexts = reported(options.data)["squad2, report"]
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


def growth(options: argparse.Namespace) -> None:
    shapes = [(number, SHORT) for number in options.passages] + [(PASSAGES, tokens) for tokens in options.tokens]

    def rows() -> Iterator[list[str]]:
        for number, tokens in shapes:
            made = own_process(__file__, "growth", "--models", options.models[0], "--work", number, tokens)
            thousand = 1e6 * made["seconds"] / (number * tokens)
            yield [str(number), str(tokens), f"{made['seconds']:.2f}", f"{thousand:.0f}", f"{made['more']:.0f}"]

    table(
        ["passages", "tokens each (about)", "s per turn", "ms per 1,000 tokens", "MB more at the peak"],
        rows(),
        "reading/growth",
    )


def read_one(options: argparse.Namespace, count: str, tokens: str) -> Figures:
    """Measure one turn with different texts of the given number and length, cut from the bundled example."""
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as lines:
        words = [word for line in lines for word in json.loads(line)["text"].split()]
    number, length = int(count), int(tokens) * 3 // 4
    step = max(1, (len(words) - length) // number)
    texts = [" ".join(words[place * step : place * step + length]) for place in range(number)]
    station = Extractive(model=options.models[0], max_passages=number)
    station.warm_up()
    whole = given_all([Passage(str(place), text) for place, text in enumerate(texts)])
    turns, rewrites = [Turn(TurnId(1, 1), QUESTION)], [Rewrite(QUESTION, (Query(QUESTION),))]
    station.read_batch(turns, rewrites, [Ranking(whole.hits[:1])])
    loaded, start = peak_mb(), time.perf_counter()
    station.read_batch(turns, rewrites, [whole])
    return {"seconds": time.perf_counter() - start, "more": peak_mb() - loaded}


PARTS = {"sets": sets, "haystack": haystack, "growth": growth}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=PARTS)
    parser.add_argument("--models", nargs="+", default=["reader"])
    parser.add_argument("--sets", nargs="+", metavar="SET", help="of sets")
    parser.add_argument("--limit", type=int, help="maximum number of questions")
    parser.add_argument("--precision", choices=("auto", "float32", "bfloat16", "int8"), default="auto", help="of sets")
    parser.add_argument("--passages", type=int, nargs="+", default=[10, 100, 1000], help="of growth")
    parser.add_argument("--tokens", type=int, nargs="+", default=[100, 400, 1600, 8000], help="of growth")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        works: dict[str, Callable[..., object]] = {"haystack": read_ten, "growth": read_one}
        print(json.dumps(works[options.what](options, *options.work)))
    else:
        PARTS[options.what](options)


if __name__ == "__main__":
    main()
