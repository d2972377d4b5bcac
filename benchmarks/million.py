"""A million passages in the embedded store: time, disk, memory, cold open, queries/s with and without re-scoring.

The passages are the 27,065 real ones of lucene_equality.py and synthetic ones: real sentences put together anew to
real lengths, in which words of at most three passages get new names, so that the rare tail of the vocabulary keeps its
shape. They are good for timing, never for quality. Each phase runs in a process of its own.

    python benchmarks/million.py [--count 1000000] [--data ../shared/data] [--scratch FOLDER]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
from _common import arguments, peak_mb
from lucene_equality import queries, union

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")
_SETS = ("cast2020", "clapnq_dev", "inscit_dev", "or_sharc_dev")
RARE = 3


def synthetic(data: Path, count: int) -> Iterator[dict[str, str]]:
    """Records of ``count`` passages, the real ones first."""
    real = list(union(data))
    for passage in real[:count]:
        yield passage.to_json()
    chance = random.Random(7)
    sentences = [sentence for passage in real for sentence in _SENTENCE.split(passage.text)]
    lengths = [len(passage.text.split()) for passage in real]
    df = Counter(word for passage in real for word in set(_WORD.findall(passage.text.lower())))
    rare = {word for word, passages in df.items() if passages <= RARE}
    uses: Counter[str] = Counter()

    def renamed(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word not in rare:
            return match[0]
        uses[word] += 1
        return f"{match[0]}x{uses[word] // df[word]}"

    for number in range(len(real), count):
        wanted, words = chance.choice(lengths), 0
        parts = []
        while words < wanted:
            parts.append(chance.choice(sentences))
            words += parts[-1].count(" ") + 1
        title = chance.choice(real).title
        yield {"id": f"synthetic/{number}", "title": title, "text": _WORD.sub(renamed, " ".join(parts)) or "empty"}


def questions(data: Path, count: int) -> list[str]:
    texts = [text for name in _SETS for text in queries(data, name)[0].values()]
    return random.Random(3).sample(texts, min(count, len(texts)))


def write(args: argparse.Namespace) -> dict[str, float]:
    with (args.scratch / "passages.jsonl").open("wb") as file:
        for record in synthetic(args.data, args.count):
            file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    return {"JSONL, MB": (args.scratch / "passages.jsonl").stat().st_size / 1e6}


def build(args: argparse.Namespace) -> dict[str, float]:
    from convqa.indexing import index_sources

    start = time.perf_counter()
    index_sources([args.scratch / "passages.jsonl"], str(args.scratch / "collection"), replace=True)
    wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "index, s": wall,
        "index, CPU s": used.ru_utime + used.ru_stime,
        "index, passages/s": args.count / wall,
        "index, peak memory, MB": used.ru_maxrss / 1e3,
        **disk(args.scratch / "collection"),
    }


def disk(collection: Path) -> dict[str, float]:
    """Size of a collection in a folder, and of its kinds of files."""
    files = [path for path in collection.rglob("*") if path.is_file()]
    kinds: dict[str, list[Path]] = {"all": files}
    for path in files:
        kind = "tantivy" if path.parent.name == "tantivy" else path.name.split(".")[0]
        kinds.setdefault(kind, []).append(path)
    return {f"disk, MB: {kind}": sum(path.stat().st_size for path in chosen) / 1e6 for kind, chosen in kinds.items()}


def search(args: argparse.Namespace) -> dict[str, float]:
    """Cold: the first search of a process, imports apart. Then one thread, k = 100, no texts, second of two rounds."""
    from convqa.domain import Query
    from convqa.stores import open_store
    from convqa.stores.base import SearchParams
    from convqa.stores.embedded.search import Snapshot
    from convqa.text.analysis import weigh

    asked = [Query(text) for text in questions(args.data, args.queries)]
    start = time.perf_counter()
    store = open_store(str(args.scratch / "collection"))
    opened = time.perf_counter() - start
    store.search(asked[:1], 100, SearchParams(), texts=20)
    first = time.perf_counter() - start - opened
    found = {"open, ms": 1e3 * opened, "first query, ms": 1e3 * first}
    state = Snapshot.open(args.scratch / "collection")
    analyzer, candidates = state.analyzer, state.candidates

    def bare(query: Query) -> None:
        candidates.best(candidates.query(weigh(query, analyzer), None, None), 100)

    for name, stopwords in (("", "default"), (", stopwords long", "long")):
        params = SearchParams(0.82, 0.68, stopwords=stopwords)
        rate, latencies = timed(lambda query, params=params: store.search([query], 100, params, texts=0), asked)
        found[f"re-scored{name}, q/s"] = rate
        for percent in (50, 95):
            found[f"re-scored{name}, p{percent} ms"] = latencies[len(latencies) * percent // 100]
    found["bare tantivy top 100, q/s"] = timed(bare, asked)[0]
    found["memory after, MB"] = peak_mb()
    return found


def timed(work, asked) -> tuple[float, list[float]]:  # noqa: ANN001
    for _ in range(2):
        latencies = []
        for query in asked:
            start = time.perf_counter()
            work(query)
            latencies.append(1e3 * (time.perf_counter() - start))
    return 1e3 * len(asked) / sum(latencies), sorted(latencies)


PHASES = {"write": write, "build": build, "search": search}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--scratch", type=Path, help="where files are made (default: a temporary folder)")
    parser.add_argument("--phase", choices=PHASES, help="only this phase, in this process, printed as JSON")
    args = parser.parse_args()
    if args.phase:
        print(json.dumps(PHASES[args.phase](args)))
        return
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        print(f"{args.count:,} passages, {args.queries} queries\n\n| measure | value |\n|---|---|")
        for phase in PHASES:
            command = [sys.executable, __file__, "--phase", phase, "--scratch", scratch, "--data", str(args.data)]
            command += ["--count", str(args.count), "--queries", str(args.queries)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            for name, value in json.loads(done.stdout).items():
                print(f"| {name} | {value:,.1f} |", flush=True)


if __name__ == "__main__":
    main()
