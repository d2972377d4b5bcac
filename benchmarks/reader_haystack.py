"""The reader beside Haystack's TransformersExtractiveReader with the same weights: pairs/s, memory, EM and F1.

    python benchmarks/reader_haystack.py TORCH_FOLDER FLOAT32_FOLDER [INT8_FOLDER] [--questions 200]

TORCH_FOLDER: a reader as transformers has it (``convqa train reader`` writes it beside the int8 one); FLOAT32_FOLDER:
what ``convqa models export`` makes of it. Questions with an
answer of the reported half of squad2, each with its own paragraph and the nine others that BM25 ranks first, in the
order of the ranking; both read all ten and give the best span. Each way runs in a process of its own, for each half of
the questions in turn, so that what else the machine does hits all alike; memory is the peak over that after loading.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _common import arguments, table
from comparing import difference, estimate
from questions_with_contexts import em_and_f1, ranked, reported

from convqa.domain import Passage
from convqa.tasks.mrqa.contexts import Question

PASSAGES = 10

Case = tuple[Question, list[str]]
Answer = Callable[[list[Case]], list[str]]


def cases(data: Path, number: int) -> list[Case]:
    contexts = reported(data)["squad2, report"]
    passages = [Passage(str(place), context.text) for place, context in enumerate(contexts)]
    every = [(question, one.text) for one in contexts for question in one.questions if question.answers]
    found = []
    for question, own in every[:: max(1, len(every) // number)][:number]:
        others = [one.text for one in ranked(question, passages, PASSAGES + 1)]
        texts = others[:PASSAGES] if own in others[:PASSAGES] else [*others[: PASSAGES - 1], own]
        found.append((question, texts))
    return found


def haystack(folder: str) -> Answer:
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
    from convqa.models import Options, load_reader

    reader = load_reader(folder, Options(precision=precision))  # type: ignore[arg-type]

    def answer(some: list[Case]) -> list[str]:
        pairs = [(question.text, text) for question, texts in some for text in texts]
        made = iter(zip(pairs, reader.read(pairs, 1), strict=True))
        said = []
        for _, texts in some:
            rows = [next(made) for _ in texts]
            (_, text), found = max(rows, key=lambda row: row[1].margin)
            said.append(text[found.spans[0].start : found.spans[0].end] if found.spans else "")
        return said

    return answer


def work(way: str, folder: str, some: list[Case]) -> dict[str, Any]:
    answer = haystack(folder) if way == "haystack" else ours(folder, way)
    answer(some[:2])
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    said = answer(some)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "loaded": loaded / 1024, "peak": peak / 1024, "said": said}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("torch_folder")
    parser.add_argument("float32_folder")
    parser.add_argument("int8_folder", nargs="?", default="reader")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--work", nargs=4, metavar=("WAY", "FOLDER", "FIRST", "LAST"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    found = cases(options.data, options.questions)
    if options.work:
        way, folder, first, last = options.work
        print("RESULT " + json.dumps(work(way, folder, found[int(first) : int(last)])))
        return
    half = len(found) // 2
    ways = {
        "haystack, float32": ("haystack", options.torch_folder),
        "convqa, torch float32": ("float32", options.torch_folder),
        "convqa, ONNX Runtime float32": ("float32", options.float32_folder),
        "convqa, ONNX Runtime int8": ("int8", options.int8_folder),
    }
    made: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    for first, last in ((0, half), (half, len(found))):
        for name, (way, folder) in ways.items():
            command = [sys.executable, __file__, *sys.argv[1:], "--work", way, folder, str(first), str(last)]
            ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
            line = [line for line in ended.stdout.splitlines() if line.startswith("RESULT ")]
            if not line:
                sys.exit(ended.stderr[-3000:])
            made[name].append(json.loads(line[0].removeprefix("RESULT ")))
            print("done:", name, first, last, f"{made[name][-1]['seconds']:.1f} s", flush=True)
    questions = [question for question, _ in found]
    scores = {name: em_and_f1(questions, [text for part in parts for text in part["said"]]) for name, parts in
              made.items()}  # fmt: skip
    seconds = {name: sum(part["seconds"] for part in parts) for name, parts in made.items()}
    rows = []
    for name, parts in made.items():
        loaded, peak = max(part["loaded"] for part in parts), max(part["peak"] for part in parts)
        cells = [f"{estimate(values).mean:.1f}" for values in scores[name]]
        beside = [str(difference(*pair)) for pair in zip(scores[name], scores["haystack, float32"], strict=True)]
        rows.append([
            name, f"{PASSAGES * len(found) / seconds[name]:.1f}", f"{seconds['haystack, float32'] / seconds[name]:.2f}",
            f"{loaded:.0f}", f"{peak - loaded:.0f}", *cells, *beside,
        ])  # fmt: skip
    print(f"{len(found)} questions x {PASSAGES} passages, {os.cpu_count()} cores")
    head = ["reader", "pairs/s", "times Haystack", "MB loaded", "MB more at the peak", "EM", "F1", "EM - Haystack",
            "F1 - Haystack"]  # fmt: skip
    table(head, rows)


if __name__ == "__main__":
    main()
