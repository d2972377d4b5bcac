"""How accurate, fast and large is each way to store vectors?

    python benchmarks/vectors.py [--set encoded] [--set real] [--set synthetic] [--elasticsearch URL] [--scratch FOLDER]

Prints a table for each set: recall@10 and @100 compared with exact search, queries/s, memory, time to load, bytes on
disk.

``encoded``: 15,636 real texts and 1,000 questions by the shipped encoder, which takes minutes on two cores;
``--vectors FILE.npz`` keeps them. ``real``: the 27,065 texts of lucene_equality.py and 1,000 of its questions, encoded
by latent semantic analysis to 384 dimensions (tf-idf of our tokens, randomized SVD: Halko et al. 2011): real texts, but
not vectors of a neural encoder. ``synthetic``: a random mixture, 3,000 centres in 96 dimensions of 384 with noise, and
300 questions of the same kind. Every row is a new collection, built and searched through the store protocol, each phase
in a new process. ``faiss Flat`` is the bare library.

``--elasticsearch`` adds rows of a server (elasticsearch://HOST:PORT; its indexes are deleted afterwards).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _common import Figures, arguments, folder_mb, own_process, peak_mb
from numpy.typing import NDArray
from vector_sets import BLOCK, DIMENSION, Matrix, encoded, mixture, real

K = 100
BATCH = 64


@dataclass(frozen=True, slots=True)
class Row:
    """A way to search vectors. ``engine``: a store's, or faiss alone; ``way``: how it stores and searches them."""

    engine: str
    way: str

    @property
    def name(self) -> str:
        return f"{self.engine} {self.way}"


ROWS = [
    Row("embedded", "float32 exact"),
    Row("faiss", "float32 Flat"),
    Row("elasticsearch", "int8 hnsw"),
]


def prepare(args: argparse.Namespace) -> dict[str, float]:
    """Write vectors.npy, queries.npy, truth.npy and texts.json of a set."""
    start = time.perf_counter()
    if args.chosen != "synthetic":
        texts, vectors, asked = real(args.data) if args.chosen == "real" else encoded(args.data, args.vectors)
        np.save(args.scratch / "vectors.npy", vectors)
    else:
        texts = [f"passage {number}" for number in range(args.count)]
        blocks = mixture(args.count)
        asked = next(blocks)
        shape = (args.count, DIMENSION)
        vectors = np.lib.format.open_memmap(args.scratch / "vectors.npy", "w+", np.float32, shape)
        for number, block in enumerate(blocks):
            vectors[number * BLOCK : number * BLOCK + len(block)] = block
    np.save(args.scratch / "queries.npy", asked)
    np.save(args.scratch / "truth.npy", _exact(vectors, asked))
    (args.scratch / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return {"passages": len(texts), "questions": len(asked), "seconds": time.perf_counter() - start}


def _exact(vectors: Matrix, asked: Matrix) -> NDArray[np.int64]:
    """Return the numbers of the best ``K`` for each question, best first."""
    best: Matrix = np.full((len(asked), 0), 0.0, np.float32)
    numbers: NDArray[np.int64] = np.empty((len(asked), 0), np.int64)
    for start in range(0, len(vectors), BLOCK):
        scores = asked @ vectors[start : start + BLOCK].T
        best = np.concatenate((best, scores), axis=1)
        fresh = np.broadcast_to(np.arange(start, start + scores.shape[1]), scores.shape)
        numbers = np.concatenate((numbers, fresh), axis=1)
        top = np.argpartition(-best, min(K, best.shape[1]) - 1, axis=1)[:, :K]
        best, numbers = np.take_along_axis(best, top, axis=1), np.take_along_axis(numbers, top, axis=1)
    return np.take_along_axis(numbers, np.argsort(-best, axis=1), axis=1)


def build(args: argparse.Namespace) -> dict[str, float]:
    """Index texts, then vectors in a transaction of their own, which is timed."""
    from convqa.domain import Passage
    from convqa.stores import create_store, open_store
    from convqa.stores.base import WritableStore

    texts = json.loads((args.scratch / "texts.json").read_text(encoding="utf-8"))
    with create_store(args.url, "en", replace=True) as made:
        made.add(Passage(str(number), text) for number, text in enumerate(texts))
    store = open_store(args.url)
    assert isinstance(store, WritableStore)
    start = time.perf_counter()
    for first in range(0, len(texts), BLOCK):
        block = _block(args, first)
        ids = [str(number) for number in range(first, first + len(block))]
        store.add_vectors(ids, block, _encoder())
    store.commit()
    took = time.perf_counter() - start
    return {"load": took, "load peak": peak_mb()}


def _block(args: argparse.Namespace, first: int) -> Matrix:
    """Return some of the vectors without mapping the rest, which would count as memory of the process."""
    return np.array(np.load(args.scratch / "vectors.npy", mmap_mode="r")[first : first + BLOCK])


def _encoder() -> Any:
    from convqa.stores.base import Encoder

    return Encoder("benchmark", "0" * 64, DIMENSION)


def search(args: argparse.Namespace) -> dict[str, float]:
    from convqa.stores import open_store

    store, encoder = open_store(args.url), _encoder()

    def asking(queries: Matrix) -> list[list[int]]:
        rankings = store.search_vectors(queries, K, encoder, texts=0)
        return [[int(hit.id) for hit in ranking.hits] for ranking in rankings]

    return _searched(args, asking)


def flat(args: argparse.Namespace) -> dict[str, float]:
    import faiss

    index = faiss.IndexFlatIP(DIMENSION)
    start = time.perf_counter()
    first = 0
    while len(block := _block(args, first)):
        index.add(block)
        first += len(block)
    took = time.perf_counter() - start
    return {"load": took, **_searched(args, lambda queries: index.search(queries, K)[1].tolist())}


def _searched(args: argparse.Namespace, asking: Callable[[Matrix], list[list[int]]]) -> dict[str, float]:
    """Return the best of three rounds: other work on the machine only makes a round slower."""
    queries, truth = np.load(args.scratch / "queries.npy"), np.load(args.scratch / "truth.npy")
    start = time.perf_counter()
    asking(queries[:1])
    first = time.perf_counter() - start
    blocks = [queries[start : start + BATCH] for start in range(0, len(queries) - BATCH + 1, BATCH)]
    rates, latencies = [], []
    for _ in range(3):
        start = time.perf_counter()
        for block in blocks:
            asking(block)
        rates.append(BATCH * len(blocks) / (time.perf_counter() - start))
        times = []
        for query in queries[:50, None]:
            start = time.perf_counter()
            asking(query)
            times.append(time.perf_counter() - start)
        latencies.append(float(np.median(times)))
    found = asking(queries)
    pairs = list(zip(found, truth.tolist(), strict=True))
    recall = {k: float(np.mean([len(set(mine[:k]) & set(theirs[:k])) for mine, theirs in pairs])) / k for k in (10, K)}
    return {
        "first": first,
        "batch": max(rates),
        "single": 1 / min(latencies),
        "p50": 1e3 * min(latencies),
        "recall@10": recall[10],
        "recall": recall[K],
        "peak": peak_mb(),
    }


def disk(row: Row, url: str) -> float:
    """Return the megabytes that a store uses for vectors."""
    if row.engine == "embedded":
        return folder_mb(Path(url), "vectors.*")
    if row.engine == "faiss":
        return float("nan")
    server, name = url.removeprefix("elasticsearch://").rsplit("/", 1)
    place = f"http://{server}/{name}*-vectors/_stats/store"
    with urllib.request.urlopen(place) as answer:
        return float(json.load(answer)["_all"]["primaries"]["store"]["size_in_bytes"]) / 1e6


PHASES = {"prepare": prepare, "build": build, "search": search, "flat": flat}
COLUMNS = ("recall@10", "recall@100", "batch 64, q/s", "single, q/s", "single p50, ms", "load, s", "first search, s",
           "disk, MB", "load peak, MB", "search peak, MB")  # fmt: skip


def report(args: argparse.Namespace, scratch: Path, chosen: str) -> None:
    def phase(name: str, *more: str) -> Figures:
        options = ["--phase", name, "--scratch", scratch, "--data", args.data, "--chosen", chosen]
        found: Figures = own_process(__file__, *options, "--count", args.count, "--vectors", args.vectors, *more)
        return found

    made = phase("prepare")
    print(f"\n{chosen}: {made['passages']:,} passages, {made['questions']} questions, {DIMENSION} dimensions\n")
    print(f"| row | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    for row in ROWS:
        if (row.engine == "elasticsearch" and not args.elasticsearch) or (args.only and row.name not in args.only):
            continue
        url = str(scratch / "collection") if row.engine != "elasticsearch" else f"{args.elasticsearch}/bench-vectors"
        if row.engine == "faiss":
            found = phase("flat")
        else:
            found = phase("build", "--url", url, "--row", row.name)
            found |= phase("search", "--url", url)
        found["disk"] = disk(row, url)
        keys = ("recall@10", "recall", "batch", "single", "p50", "load", "first", "disk", "load peak", "peak")
        shown = [
            f"{found[key]:,.{3 if key in ('recall@10', 'recall', 'first') else 1}f}" if key in found else ""
            for key in keys
        ]
        print(f"| {row.name} | {' | '.join(shown)} |", flush=True)
    if args.elasticsearch:
        from convqa.stores import delete_store, exists

        if exists(f"{args.elasticsearch}/bench-vectors"):
            delete_store(f"{args.elasticsearch}/bench-vectors")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--set", dest="sets", action="append", choices=("encoded", "real", "synthetic"), help="default: all"
    )
    parser.add_argument("--count", type=int, default=500_000, help="of synthetic passages")
    parser.add_argument("--only", action="append", choices=[row.name for row in ROWS], help="measure only these rows")
    parser.add_argument("--elasticsearch", help="URL of a server to measure as well")
    parser.add_argument("--scratch", type=Path, help="folder for files (default: a temporary one)")
    parser.add_argument("--vectors", type=Path, help="file that keeps the shipped encoder's vectors (encoded)")
    for hidden in ("phase", "chosen", "url", "row"):
        parser.add_argument(f"--{hidden}", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.vectors = args.vectors or Path(args.scratch or tempfile.gettempdir()) / "convqa-encoded.npz"
    if args.phase:
        print(json.dumps(PHASES[args.phase](args)))
        return
    for chosen in args.sets or ("encoded", "real", "synthetic"):
        with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
            report(args, Path(scratch), chosen)


if __name__ == "__main__":
    main()
