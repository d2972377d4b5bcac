"""What does the framework cost?

    python benchmarks/speed.py overhead [--turns 16451] [--rounds 2] [--pipeline expansion-bm25]

Prints tables. Every figure is that of the best round; memory is the process's peak.

``overhead``: a run compared with a plain loop that does the same work. The input is QReCC's TREC part (748 real turns
of 80 conversations), repeated to the number of turns, over the 27,065 passages. The loop calls the same stations turn
by turn, keeps the history and writes the same run.json, without Haystack, batches, journal and checks. The ways run in
turn, each in its own process; seconds exclude loading. Haystack's InMemoryBM25Retriever also answers a sample turn by
turn (retrieval only).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import Figures, arguments, lines, own_process, peak_mb, table
from lucene_equality import union

from convqa.domain import Turn
from convqa.tasks import find_task

HAYSTACK_SAMPLE = 100


def overhead(options: argparse.Namespace) -> None:
    from convqa.indexing import index_sources

    with tempfile.TemporaryDirectory() as folder:
        options.scratch = Path(folder)
        passages = options.scratch / "passages.jsonl"
        lines(passages, (passage.to_json() for passage in union(options.data)))
        index_sources([passages], str(options.scratch / "collection"))
        source = options.data / "qrecc" / "test-trec" / "questions.json"
        for count in {min(2_000, options.turns), options.turns}:
            repeat(source, count, options.scratch / f"questions-{count}.json")
        measure(options)


def repeat(source: Path, turns: int, target: Path) -> None:
    """Repeat whole conversations under new numbers, up to the number of turns."""
    records = json.loads(source.read_text(encoding="utf-8"))
    step = max(record["Conversation_no"] for record in records)
    repeated = [
        {
            "Conversation_no": record["Conversation_no"] + round * step,
            "Turn_no": record["Turn_no"],
            "Question": record["Question"],
        }
        for round in range(turns // len(records) + 1)
        for record in records
    ]
    target.write_text(json.dumps(repeated[:turns]), encoding="utf-8")


def measure(options: argparse.Namespace) -> None:
    small = min(2_000, options.turns)

    def child(way: str, count: int) -> Figures:
        given = ["--turns", count, "--scratch", options.scratch, "--pipeline", options.pipeline]
        found: Figures = own_process(__file__, "overhead", *given, "--way", way)
        return found

    runs: dict[str, list[Figures]] = {"framework": [], "loop": []}
    for number in range(options.rounds):
        for way in sorted(runs, reverse=number % 2 == 1):
            runs[way].append(child(way, options.turns))
    best = {way: min(rows, key=lambda row: row["seconds"]) for way, rows in runs.items()}
    sample = {"framework, fewer turns": child("framework", small)}
    sample["Haystack InMemoryBM25Retriever, retrieval only"] = child("haystack", min(HAYSTACK_SAMPLE, small))
    cells = (
        [name, f"{row['turns']:,}", f"{row['turns'] / row['seconds']:.1f}", f"{row['seconds']:.1f}", f"{row['MB']:.0f}"]
        for name, row in {**best, **sample}.items()
    )
    table([options.pipeline, "turns", "turns/s", "seconds", "peak MB"], cells, "speed/framework")
    print(f"\nframework / loop: {best['framework']['seconds'] / best['loop']['seconds']:.2f} (best rounds)")


def figures(turns: int, seconds: float) -> Figures:
    return {"turns": turns, "seconds": round(seconds, 2), "MB": round(peak_mb(), 1)}


def framework(options: argparse.Namespace) -> Figures:
    """Run ``convqa run`` without its command line."""
    from convqa.driver.run import run
    from convqa.pipeline.load import load

    source, url = options.scratch / f"questions-{options.turns}.json", str(options.scratch / "collection")
    pipeline = load(options.pipeline)
    pipeline.bind(url)
    pipeline.warm_up()
    with tempfile.TemporaryDirectory(dir=options.scratch) as output:
        start = time.perf_counter()
        summary = run(find_task("qrecc", source), source, Path(output), pipeline)
        return figures(summary.turns, time.perf_counter() - start)


def loop(options: argparse.Namespace) -> Figures:
    """Call the same stations turn by turn, with the history in a list and one json.dump per conversation."""
    from convqa.domain import Exchange, Response
    from convqa.pipeline.load import load
    from convqa.tasks import find_task
    from convqa.tasks.qrecc.run import record

    source, url = options.scratch / f"questions-{options.turns}.json", str(options.scratch / "collection")
    pipeline = load(options.pipeline)
    names = ("rewriter", "retriever", "reader", "builder")
    stations: list[Any] = [pipeline.graph.get_component(name) for name in names]
    rewriter, retriever, reader, builder = stations
    retriever.collection = url
    retriever.warm_up()
    stages = pipeline.stages
    count = 0
    start = time.perf_counter()
    with (options.scratch / "loop.json").open("w", encoding="utf-8") as out:
        for conversation in find_task("qrecc", source).read(source):
            history: tuple[Exchange, ...] = ()
            for asked in conversation.turns:
                turn = Turn(asked.id, asked.question, history)
                rewrite = rewriter.rewrite(turn)
                ranking = retriever.search([turn], rewrite.queries)[0]
                reading = reader.read(turn, rewrite, ranking)
                answer = builder.build(turn, rewrite, ranking, reading)
                history = (*history, Exchange(turn.question, answer.text, rewrite.text))
                response = Response(turn.id, rewrite, ranking, reading, answer)
                json.dump(record(response, stages), out, default=float)
                count += 1
    return figures(count, time.perf_counter() - start)


def haystack(options: argparse.Namespace) -> Figures:
    """Search the same passages with Haystack's retriever, question by question."""
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    with (options.scratch / "passages.jsonl").open(encoding="utf-8") as lines:
        passages = [json.loads(line) for line in lines]
    store.write_documents([Document(id=str(passage["id"]), content=passage["text"]) for passage in passages])
    retriever = InMemoryBM25Retriever(store, top_k=100)
    name = "questions.json"
    questions = json.loads((options.data / "qrecc" / "test-trec" / name).read_bytes())[: options.turns]
    start = time.perf_counter()
    for question in questions:
        retriever.run(query=question["Question"])
    return figures(len(questions), time.perf_counter() - start)


PARTS = {"overhead": overhead}
WAYS = {"framework": framework, "loop": loop,
        "haystack": haystack}  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=PARTS)
    parser.add_argument("--turns", type=int, default=16_451, help="of overhead")
    parser.add_argument("--pipeline", default="expansion-bm25", help="of overhead")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps({**WAYS[options.way](options), "peak, MB": peak_mb()}))
    else:
        PARTS[options.what](options)


if __name__ == "__main__":
    main()
