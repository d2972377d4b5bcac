"""How many turns per second do retrievers and pipelines answer, and what does the framework cost?

    python benchmarks/speed.py retrievers [--collection FOLDER] [--count 27065] [--data ../shared/data]
    python benchmarks/speed.py pipelines --collection FOLDER [--resolver FOLDER] [--only edit]
    python benchmarks/speed.py overhead [--turns 16451] [--rounds 2] [--pipeline expansion-bm25]

Prints tables. Every figure is that of the best round; memory is the process's peak.

``retrievers``: indexes and encodes 27,065 real passages (lucene_equality.py), or ``--count`` spread over them. Then
each retriever answers 485 turns of INSCIT's dev set, rewritten by ``expansion``, batched, and the first 60 one at a
time. Each phase is a new process. ``--collection`` keeps the collection for the next call.

``pipelines``: ``hybrid`` from rewriter to builder over such a collection, on INSCIT's turns with a history, each as a
conversation of its own, so that all can be batched; the first 60 also one at a time. The last row is the pipeline
``default``. Every round encodes all texts again.

``overhead``: a run compared with a plain loop that does the same work. The input is QReCC's TREC part (748 real turns
of 80 conversations), repeated to the number of turns, over the 27,065 passages. The loop calls the same stations turn
by turn, keeps the history and writes the same run.json, without Haystack, batches, journal and checks. The ways run in
turn, each in its own process; seconds exclude loading. Haystack's InMemoryBM25Retriever also answers a sample turn by
turn (retrieval only).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from _common import Figures, arguments, folder_mb, lines, own_process, peak_mb, rates, save, table
from lucene_equality import union
from own_history import overrides
from retriever_rows import forget
from rewriter_rows import BATCH, Description, add_options, descriptions

import convqa
from convqa.components.base import Retriever
from convqa.components.retrievers.bm25 import BM25
from convqa.components.retrievers.dense import Dense
from convqa.components.retrievers.hybrid import Hybrid
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Conversation, Passage, Rewrites, Turn, Turns
from convqa.qa import QA
from convqa.tasks import find_task

FEW = 60
"""Turns that are asked one at a time."""
HAYSTACK_SAMPLE = 100
RETRIEVERS: dict[str, Callable[[str], Retriever]] = {
    "bm25": lambda url: BM25(url, stopwords="long"),
    "dense": lambda url: Dense(url),
    "hybrid": lambda url: Hybrid(url),
}


def turns(data: Path) -> list[Turn]:
    folder = data / "conversations" / "inscit_dev"
    return [turn for conversation in find_task("qrecc", folder).read(folder) for turn in conversation.turns]


def spread(data: Path, count: int) -> list[Passage]:
    """Return this many passages, evenly spread."""
    passages = list(union(data))
    return passages[:: max(1, len(passages) // count)][:count]


def retrievers(options: argparse.Namespace) -> None:
    given = ["--data", options.data, "--count", options.count, "--rounds", options.rounds, "--encoder", options.encoder]
    with tempfile.TemporaryDirectory() as scratch:
        given += ["--collection", options.collection or Path(scratch) / "collection"]
        for way in ("encode", "build", *RETRIEVERS):
            figures = own_process(__file__, "retrievers", *given, "--way", way)
            print(f"| {way} |", " | ".join(f"{name}: {value:,.4g}" for name, value in figures.items()), "|", flush=True)


def build(options: argparse.Namespace) -> Figures:
    """Build the collection, texts first; vectors are timed."""
    from convqa.indexing import add_vectors
    from convqa.models import load_encoder
    from convqa.stores import create_store, exists, open_store

    url = str(options.collection)
    if not exists(url):
        with create_store(url, "en") as store:
            store.add(spread(options.data, options.count))
    model, before = load_encoder(options.encoder), open_store(url).info().vectors
    start = time.perf_counter()
    made = add_vectors(url, model)
    seconds = time.perf_counter() - start
    fresh, size = made.vectors - before, folder_mb(options.collection, "vectors.*")
    return {"passages": made.count, "vectors": fresh, "vectors, s": seconds, "passages/s": fresh / seconds,
            "vectors, MB": size}  # fmt: skip


def encode(options: argparse.Namespace) -> Figures:
    """Time the encoder alone: 500 passages and 500 questions."""
    from convqa.models import load_encoder

    model = load_encoder(options.encoder)
    passages = [passage.whole_text for passage in spread(options.data, 500)]
    questions = [turn.question for turn in turns(options.data)][:500]
    ways = {
        "passages/s": lambda: len(model.encode(passages)),
        "questions/s": lambda: len(model.encode(questions, role="query")),
    }
    return rates(ways, options.rounds)


def search(options: argparse.Namespace) -> Figures:
    """Return turns/s of one retriever."""
    retriever = RETRIEVERS[options.way](str(options.collection))
    forget(options.encoder)
    start = time.perf_counter()
    retriever.warm_up()
    warm = time.perf_counter() - start
    asked = turns(options.data)[: options.limit]
    rewritten = [Expansion().rewrite(turn) for turn in asked]

    def ask(size: int, count: int) -> int:
        for first in range(0, count, size):
            part = slice(first, min(first + size, count))
            retriever.run(Turns(tuple(asked[part])), Rewrites(tuple(rewritten[part])))
        return count

    ways = {"batched": partial(ask, BATCH, len(asked)), "one at a time": partial(ask, 1, min(FEW, len(asked)))}
    found = rates(ways, options.rounds)
    return {"warm-up, s": warm, **{f"turns/s, {name}": rate for name, rate in found.items()}}


def asking(assistant: QA, asked: Sequence[Conversation], size: int) -> Callable[[], int]:
    """Return a function that answers all of them, ``size`` at a time.

    :raises SystemExit: if a turn fails.
    """

    def work() -> int:
        for response in assistant.drive(asked, "gold", size):
            if response.error is not None:
                sys.exit(f"turn {response.id}: {response.error}")
        return len(asked)

    return work


def speeds(options: argparse.Namespace, rows: Mapping[str, Description], record: dict[str, Any]) -> Iterator[list[str]]:
    # A first turn has nothing to rewrite.
    asked = [Conversation(str(turn.id), (turn,)) for turn in turns(options.data) if turn.history][: options.limit]
    hybrid = partial(convqa.load, "hybrid", options.collection)
    loaded: dict[str, Callable[[], QA]] = {
        label: partial(hybrid, overrides(described, options.encoder)) for label, described in rows.items()
    }
    loaded["edit, as default"] = partial(convqa.load, "default", options.collection)
    forget(options.encoder)
    for label, load in loaded.items():
        assistant = load()
        ways = {
            "one at a time": asking(assistant, asked[:FEW], 1),
            "batched": asking(assistant, asked, BATCH),
        }
        record[label] = found = rates(ways, options.rounds)
        single, batched = found.values()
        yield [label, f"{single:,.1f}", f"{1000 / single:,.0f}", f"{batched:,.1f}", f"{batched / single:.1f}"]


def pipelines(options: argparse.Namespace) -> None:
    record: dict[str, Any] = {}
    head = ["rewriter", "one at a time, turns/s", "ms per turn", "batched, turns/s", "ratio"]
    table(head, speeds(options, descriptions(options), record), "speed/pipelines")
    save(record, options.json)


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
    from convqa.tasks import find_task

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
    from convqa.domain import Exchange, Response, Turn
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


PARTS = {"retrievers": retrievers, "pipelines": pipelines, "overhead": overhead}
WAYS = {"encode": encode, "build": build, **dict.fromkeys(RETRIEVERS, search), "framework": framework, "loop": loop,
        "haystack": haystack}  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=PARTS)
    parser.add_argument("--collection", type=Path, help="a folder; retrievers creates it if missing")
    parser.add_argument("--count", type=int, default=27_065, help="passages of retrievers")
    parser.add_argument("--encoder", default="encoder")
    parser.add_argument("--turns", type=int, default=16_451, help="of overhead")
    parser.add_argument("--pipeline", default="expansion-bm25", help="of overhead")
    parser.add_argument("--rounds", type=int, help="3, of overhead 2")
    parser.add_argument("--limit", type=int, help="maximum number of turns (retrievers, pipelines)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file (pipelines)")
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    add_options(parser)
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.what == "overhead" else 3)
    if options.way:
        print(json.dumps({**WAYS[options.way](options), "peak, MB": peak_mb()}))
    elif options.what == "pipelines" and not options.collection:
        parser.error("pipelines needs --collection")
    else:
        PARTS[options.what](options)


if __name__ == "__main__":
    main()
