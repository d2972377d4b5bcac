"""What the framework costs: a whole run of 16,451 turns beside a plain loop that does the same work by hand.

    python benchmarks/overhead.py [--turns 16451] [--rounds 2] [--pipeline expansion-bm25] [--data ../shared/data]

The input is QReCC's TREC part (748 real turns of 80 conversations) repeated to the number of turns; the collection is
the union that benchmarks/lucene_equality.py describes. The loop calls the same stations turn by turn, keeps the history
itself and writes the same run.json: no Haystack, no batches, no journal, no checks. Each way runs in a process of its
own, in turns; seconds are of the work alone (loading excluded), memory is the process's peak. Beside them, Haystack's
InMemoryBM25Retriever answers a sample turn by turn (retrieval only).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _common import arguments
from lucene_equality import union  # the script beside this one

HAYSTACK_SAMPLE = 100


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=16_451)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--pipeline", default="expansion-bm25")
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(globals()[options.way](options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        options.scratch = Path(folder)
        prepare(options)
        report(options)


def prepare(options: argparse.Namespace) -> None:
    from convqa.indexing import index_sources

    passages = options.scratch / "passages.jsonl"
    with passages.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(passage.to_json()) + "\n" for passage in union(options.data))
    index_sources([passages], str(options.scratch / "collection"))
    for turns in {2_000, options.turns}:
        repeat(
            options.data / "qrecc" / "test-trec" / "questions.json", turns, options.scratch / f"questions-{turns}.json"
        )


def repeat(source: Path, turns: int, target: Path) -> None:
    """Whole conversations again and again under new numbers, until there are that many turns."""
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


def report(options: argparse.Namespace) -> None:
    measured: dict[str, list[dict[str, float]]] = {"framework": [], "loop": []}
    for round in range(options.rounds):
        for way in ("framework", "loop") if round % 2 == 0 else ("loop", "framework"):
            measured[way].append(child(options, way, options.turns))
            print(f"round {round + 1}, {way}: {measured[way][-1]}", file=sys.stderr)
    small = child(options, "framework", 2_000)
    haystack = child(options, "haystack", HAYSTACK_SAMPLE)
    best = {way: min(rows, key=lambda row: row["seconds"]) for way, rows in measured.items()}
    print(f"| {options.pipeline} | turns | turns/s | seconds | peak MB |\n|---|---|---|---|---|")
    for name, row in {
        **best,
        "framework, fewer turns": small,
        "Haystack InMemoryBM25Retriever, retrieval only": haystack,
    }.items():
        print(f"| {name} | {row['turns']:,} | {speed(row):.1f} | {row['seconds']:.1f} | {row['peak_mb']:.0f} |")
    ratio = best["framework"]["seconds"] / best["loop"]["seconds"]
    print(f"\nframework / loop: {ratio:.2f} (best of {options.rounds} rounds, in turns)")
    print(f"framework / Haystack's retriever, turns/s: {speed(best['framework']) / speed(haystack):.0f}")


def speed(row: dict[str, float]) -> float:
    return row["turns"] / row["seconds"]


def child(options: argparse.Namespace, way: str, turns: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--way", way, "--turns", str(turns), "--scratch", str(options.scratch)]
    done = subprocess.run([*command, "--pipeline", options.pipeline], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def figures(turns: int, seconds: float) -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"turns": turns, "seconds": round(seconds, 2), "peak_mb": round(peak, 1)}


def framework(options: argparse.Namespace) -> dict[str, float]:
    """``convqa run`` without its command line."""
    from convqa.driver.run import run
    from convqa.pipeline.load import load
    from convqa.tasks import find_task

    source, url = options.scratch / f"questions-{options.turns}.json", str(options.scratch / "collection")
    pipeline = load(options.pipeline)
    pipeline.bind(url)
    pipeline.warm_up()
    with tempfile.TemporaryDirectory(dir=options.scratch) as output:
        start = time.perf_counter()
        summary = run(find_task("qrecc", source), source, Path(output), pipeline)
        return figures(summary.turns, time.perf_counter() - start)


def loop(options: argparse.Namespace) -> dict[str, float]:
    """The same stations, called turn by turn; the history in a list; one json.dump at the end of each conversation."""
    from convqa.domain import Exchange, Response, Turn
    from convqa.pipeline import nodes
    from convqa.pipeline.compose import compose
    from convqa.tasks import find_task
    from convqa.tasks.qrecc.run import record

    source, url = options.scratch / f"questions-{options.turns}.json", str(options.scratch / "collection")
    document = compose(options.pipeline)
    made = {name: nodes.make(name, node) for name, node in document.components.items()}
    made["retriever"].collection = url
    rewriter, retriever, reader, builder = (made[name] for name in ("rewriter", "retriever", "reader", "builder"))
    retriever.warm_up()
    stages = frozenset(document.outputs)
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


def haystack(options: argparse.Namespace) -> dict[str, float]:
    """Haystack's own retriever over the same passages, question by question."""
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    with (options.scratch / "passages.jsonl").open(encoding="utf-8") as lines:
        passages = [json.loads(line) for line in lines]
    store.write_documents([Document(id=str(passage["id"]), content=passage["text"]) for passage in passages])
    retriever = InMemoryBM25Retriever(store, top_k=100)
    questions = json.loads((options.scratch / "questions-2000.json").read_text(encoding="utf-8"))[: options.turns]
    start = time.perf_counter()
    for question in questions:
        retriever.run(query=question["Question"])
    return figures(len(questions), time.perf_counter() - start)


if __name__ == "__main__":
    main()
