"""Retrieval with vectors on 27,065 real passages: encoding, and turns/s of each retriever, batched and one at a time.

The passages are those of lucene_equality.py; the turns are 485 of INSCIT's dev set with the history that it gives,
rewritten by ``expansion``. Each phase is a process of its own; ``peak`` is its largest resident memory. Every figure is
the best of ``--rounds``: other work on the machine makes it slower, never faster.

    python benchmarks/hybrid_speed.py [--data ../shared/data] [--collection FOLDER] [--count 27065] \
        [--precision float32] [--rounds 3]

``--collection`` keeps the collection, so that a second call need not encode again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _common import arguments
from lucene_equality import union
from retriever_rows import forget

from convqa.components.base import Retriever
from convqa.components.retrievers.bm25 import BM25
from convqa.components.retrievers.dense import Dense
from convqa.components.retrievers.hybrid import Hybrid
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Passage, Rewrites, Turn, Turns
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.stores import create_store, exists, open_store
from convqa.stores.base import VectorOptions
from convqa.tasks import find_task

BATCH = 256
ONE_BY_ONE = 60
"""Turns that are asked one at a time."""

RETRIEVERS: dict[str, Callable[[str], Retriever]] = {
    "bm25": lambda url: BM25(url, stopwords="long"),
    "bm25 with prf": lambda url: BM25(url, stopwords="long", prf={}),
    "dense": lambda url: Dense(url),
    "hybrid": lambda url: Hybrid(url),
}


def build(args: argparse.Namespace) -> dict[str, float]:
    """The collection, texts first; the vectors are what is timed."""
    start = time.perf_counter()
    if not exists(str(args.collection)):
        with create_store(str(args.collection), "en") as store:
            store.add(_some(union(args.data), args.count))
    texts = time.perf_counter() - start
    model = load_encoder(args.encoder)
    before = open_store(str(args.collection)).info().vectors
    start = time.perf_counter()
    made = add_vectors(str(args.collection), model, VectorOptions(args.precision))
    seconds = time.perf_counter() - start
    size = sum(path.stat().st_size for path in args.collection.glob("vectors.*"))
    return {
        "passages": made.count,
        "texts, s": texts,
        "vectors": made.vectors - before,
        "vectors, s": seconds,
        "passages/s": (made.vectors - before) / seconds,
        "vectors, MB": size / 1e6,
    }


def encode(args: argparse.Namespace) -> dict[str, float]:
    """The encoder alone: 500 passages and 500 questions."""

    model = load_encoder(args.encoder)
    passages = [passage.whole_text for passage in _some(union(args.data), 500)]
    questions = [turn.question for turn in turns(args)][:500]
    return {
        "passages/s": _best(args.rounds, lambda: model.encode(passages), len(passages)),
        "questions/s": _best(args.rounds, lambda: model.encode(questions, role="query"), len(questions)),
    }


def search(args: argparse.Namespace) -> dict[str, float]:
    """Turns/s of one retriever."""
    retriever = RETRIEVERS[args.retriever](str(args.collection))
    forget(args.encoder)
    start = time.perf_counter()
    retriever.warm_up()
    warm = time.perf_counter() - start
    asked = turns(args)
    rewritten = [Expansion().rewrite(turn) for turn in asked]

    def ask(size: int, count: int) -> Callable[[], object]:
        def work() -> None:
            for first in range(0, count, size):
                part = slice(first, min(first + size, count))
                retriever.run(Turns(tuple(asked[part])), Rewrites(tuple(rewritten[part])))

        return work

    ask(BATCH, len(asked))()
    return {
        "warm-up, s": warm,
        "turns/s, batched": _best(args.rounds, ask(BATCH, len(asked)), len(asked)),
        "turns/s, one at a time": _best(args.rounds, ask(1, ONE_BY_ONE), ONE_BY_ONE),
    }


def turns(args: argparse.Namespace) -> list[Turn]:
    folder = args.data / "conversations" / "inscit_dev"
    return [turn for conversation in find_task("qrecc", folder).read(folder) for turn in conversation.turns]


def _some(passages: Any, count: int) -> list[Passage]:
    """Evenly spread."""
    all_of_them = list(passages)
    return all_of_them[:: max(1, len(all_of_them) // count)][:count]


def _best(rounds: int, work: Callable[[], object], items: int) -> float:
    """Items/s of the fastest round."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return items / min(seconds)


def phase(args: argparse.Namespace, name: str, **more: str) -> None:
    """Run a phase in a process of its own and print its figures."""
    options = [f"--{key}={value}" for key, value in {**_fixed(args), **more}.items()]
    done = subprocess.run([sys.executable, __file__, "--phase", name, *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    figures = json.loads(done.stdout.splitlines()[-1])
    label = ", ".join([name, *more.values()])
    print(f"| {label} | " + " | ".join(f"{key}: {value:,.4g}" for key, value in figures.items()) + " |", flush=True)


def _fixed(args: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(args, name) for name in ("data", "collection", "count", "encoder", "precision", "rounds")}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--collection", type=Path, help="a folder; made if it is not there")
    parser.add_argument("--count", type=int, default=27_065, help="passages, evenly spread over all")
    parser.add_argument("--encoder", default="encoder")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--phase", choices=("build", "encode", "search"), help=argparse.SUPPRESS)
    parser.add_argument("--retriever", choices=RETRIEVERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.phase:
        figures = {"build": build, "encode": encode, "search": search}[args.phase](args)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**figures, "peak, MiB": peak}))
        return
    with tempfile.TemporaryDirectory() as scratch:
        args.collection = args.collection or Path(scratch) / "collection"
        phase(args, "encode")
        phase(args, "build")
        for name in RETRIEVERS:
            phase(args, "search", retriever=name)


if __name__ == "__main__":
    main()
