"""How a collection grows: time to index, disk, memory and queries/s, embedded and on Elasticsearch with 1 to 3 nodes.

The passages are those of million.py, at each size the same ones and more. Every phase runs in a process of its own;
Elasticsearch is started anew for every number of nodes (tests/services), with one shard a node and no replicas, so
that each node holds its part of one copy. All nodes share this machine's cores: their figures show what it costs to
spread a collection, not what more machines gain. Questions are asked 64 at a time, k = 100, without texts; the best of
three rounds counts. Processor time is that of the client and of all nodes, which other work on the machine changes less
than rates. Memory of Elasticsearch is the resident memory of all its nodes.

    python benchmarks/growth.py [--sizes 10000 100000] [--engines embedded elasticsearch-3] [--json growth.json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _common import ROOT, arguments, peak_mb
from million import questions, write

ENGINES = ("embedded", "elasticsearch-1", "elasticsearch-2", "elasticsearch-3")
BATCH = 64
ROUNDS = 3
TOP = 100
COLUMNS = {
    "index, s": "{:,.1f}",
    "index, passages/s": "{:,.0f}",
    "index, CPU s": "{:,.1f}",
    "index, peak memory, MB": "{:,.0f}",
    "disk, MB": "{:,.1f}",
    "disk, bytes/passage": "{:,.0f}",
    "search, q/s": "{:,.0f}",
    "search, CPU ms/query": "{:,.1f}",
    "search, peak memory, MB": "{:,.0f}",
    "server, MB": "{:,.0f}",
}

Figures = dict[str, float]


def build(args: argparse.Namespace) -> Figures:
    from convqa.indexing import index_sources

    settings = {"shards": args.nodes} if args.nodes else None
    start = time.perf_counter()
    index_sources([args.scratch / "passages.jsonl"], args.url, replace=True, settings=settings)
    wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "index, s": wall,
        "index, passages/s": args.count / wall,
        "index, CPU s": used.ru_utime + used.ru_stime,
        "index, peak memory, MB": used.ru_maxrss / 1e3,
    }


def search(args: argparse.Namespace) -> Figures:
    from convqa.domain import Query
    from convqa.stores import open_store
    from convqa.stores.base import SearchParams

    asked = [Query(text) for text in questions(args.data, args.queries)]
    blocks = [asked[start : start + BATCH] for start in range(0, len(asked), BATCH)]
    store, best = open_store(args.url), 0.0
    store.search(asked[:1], TOP, SearchParams(), texts=0)
    used = time.process_time()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for block in blocks:
            store.search(block, TOP, SearchParams(), texts=0)
        best = max(best, len(asked) / (time.perf_counter() - start))
    return {
        "search, q/s": best,
        "search, CPU ms/query": 1e3 * (time.process_time() - used) / ROUNDS / len(asked),
        "search, peak memory, MB": peak_mb(),
    }


PHASES = {"write": write, "build": build, "search": search}


def phase(name: str, args: argparse.Namespace, scratch: Path, count: int, url: str, nodes: int) -> Figures:
    """Run a phase as a process, so that its memory and processor time are its own."""
    command = [sys.executable, __file__, "--phase", name, "--scratch", str(scratch), "--data", str(args.data)]
    command += ["--count", str(count), "--queries", str(args.queries), "--url", url, "--nodes", str(nodes)]
    found: Figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


@contextmanager
def cluster(nodes: int, heap: str) -> Iterator[Any]:
    """A cluster of so many nodes (tests/services), or None for no nodes."""
    if not nodes:
        yield None
        return
    sys.path.insert(0, str(ROOT / "tests" / "services"))
    from elasticsearch_server import Server

    with Server(nodes=nodes, heap=heap) as server:
        yield server


def measured(args: argparse.Namespace, scratch: Path, count: int, nodes: int, server: Any) -> Figures:
    """The figures of one collection; it is deleted afterwards."""
    from convqa.stores import delete_store

    url = f"{server.url}/growth" if server else str(scratch / "collection")
    start = _processor(server) if server else 0.0
    found = phase("build", args, scratch, count, url, nodes)
    built = _processor(server) if server else 0.0
    found["index, CPU s"] += built - start
    size = _stored(server) if server else _folder(Path(url))
    found |= {"disk, MB": size / 1e6, "disk, bytes/passage": size / count}
    found |= phase("search", args, scratch, count, url, nodes)
    if server:
        found["search, CPU ms/query"] += 1e3 * (_processor(server) - built) / ROUNDS / args.queries
        found["server, MB"] = sum(_resident(node.pid) for node in server.members) / 1e3
    delete_store(url)
    return found


def _stored(server: Any) -> int:
    address = server.url.replace("elasticsearch://", "http://")
    with urllib.request.urlopen(f"{address}/growth*/_stats/store", timeout=60) as answer:
        return int(json.load(answer)["_all"]["total"]["store"]["size_in_bytes"])


def _folder(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _processor(server: Any) -> float:
    """Seconds of processor time that all nodes have taken."""
    stats = [Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split() for node in server.members]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    """Kilobytes of memory that a process holds now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


def row(found: Mapping[str, Any]) -> str:
    cells = [form.format(found[name]) if name in found else "-" for name, form in COLUMNS.items()]
    return f"| {found['passages']:,} | {found['engine']} | {' | '.join(cells)} |"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="numbers of passages")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--queries", type=int, default=640)
    parser.add_argument("--heap", default="1g", help="of each node of Elasticsearch")
    parser.add_argument("--json", type=Path, help="write the figures into this file too")
    parser.add_argument("--scratch", type=Path, help="where files are made (default: a temporary folder)")
    for hidden, kind in {"phase": str, "url": str, "count": int, "nodes": int}.items():
        parser.add_argument(f"--{hidden}", type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.phase:
        print(json.dumps(PHASES[args.phase](args)))
        return
    print(f"| passages | engine | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 2)}")
    rows: list[dict[str, Any]] = []
    for engine in args.engines:
        nodes = int(engine.partition("-")[2] or 0)
        with tempfile.TemporaryDirectory(dir=args.scratch) as folder, cluster(nodes, args.heap) as server:
            for count in args.sizes:
                phase("write", args, Path(folder), count, "", nodes)
                found = measured(args, Path(folder), count, nodes, server)
                rows.append({"passages": count, "engine": engine, **found})
                print(row(rows[-1]), flush=True)
                if args.json:
                    args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
