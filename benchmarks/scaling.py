"""What do workers, Ray and shards gain and cost, compared with one process?

    python benchmarks/scaling.py [--input ../shared/data/conversations/cast2020] [--pipeline copy-bm25] [--rounds 3]

Prints tables. Each round runs, in turn: this process; one and two worker processes; Ray with one and two workers. Every
run is a new process over the same prepared collection, with one thread per worker (OMP_NUM_THREADS=1). Figures are
medians over the rounds: seconds of answering (from the first to the last write of the journal, without imports and
Ray's start), seconds of the whole command, processor time of all its processes (which other work on the machine affects
least), and the largest memory of a worker. All run files must have the same bytes.

Then: the time of a run with two workers of which one is killed half-way, and of the merge of eight shards.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import orjson
from _common import DATA, arguments

KINDS = {
    "local": (),
    "processes 1": ("--executor", "processes", "--workers", "1"),
    "processes 2": ("--executor", "processes", "--workers", "2"),
    "ray 1": ("--executor", "ray", "--workers", "1"),
    "ray 2": ("--executor", "ray", "--workers", "2"),
}


def convqa(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "convqa", *map(str, arguments)]


def below(pid: int) -> list[int]:
    """Return all descendants of a process."""
    parents: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.setdefault(int(status.read_text().rpartition(")")[2].split()[1]), []).append(
                int(status.parent.name)
            )
        except OSError:
            continue
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def megabytes(pid: int) -> tuple[float, float]:
    """Return (resident, unshared) memory of a process; zeros if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split()[0]: int(line.split()[1]) / 1024 for line in lines[1:]}
    return sizes["Rss:"], sizes["Private_Dirty:"] + sizes["Private_Clean:"]


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_worker(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"forkserver" in words or b"ray::" in words


def run(output: Path, *arguments: object, kill: bool = False) -> dict[str, float]:
    """Return seconds of a run and of its answering, and the peak memory of a worker; ``kill`` one half-way."""
    start = time.perf_counter()
    # The last run's cache would provide its vectors.
    environment = {**os.environ, "XDG_CACHE_HOME": f"{output}-cache"}
    command, quiet = convqa("run", *arguments), subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
    journal = output / "responses.jsonl"
    first = last = 0.0
    size, most, private, seen, polls = 0, 0.0, 0.0, 0, 0
    spent: dict[int, float] = {}
    while process.poll() is None:
        time.sleep(0.05)
        polls += 1
        if polls % 10 == 0:
            for pid in (process.pid, *below(process.pid)):
                spent[pid] = max(spent.get(pid, 0.0), processor_seconds(pid))
        now = journal.stat().st_size if journal.exists() else 0
        if now != size:
            size, last = now, time.perf_counter()
            first = first or last
            seen += 1
        if seen % 20 == 5:
            seen += 1
            found = [megabytes(pid) for pid in below(process.pid) if is_worker(pid)]
            most, private = max([most, *(one for one, _ in found)]), max([private, *(one for _, one in found)])
        if kill and seen > 10:
            workers = [pid for pid in below(process.pid) if is_worker(pid)]
            os.kill(workers[-1], signal.SIGKILL)
            kill = False
    if process.returncode:
        raise SystemExit(f"convqa run ended with {process.returncode}")
    whole = time.perf_counter() - start
    processor = sum(spent.values())
    return {"whole": whole, "answering": last - first, "processor": processor, "rss": most, "private": private}


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--input", type=Path, default=DATA / "conversations" / "cast2020")
    parser.add_argument("--pipeline", default="copy-bm25")
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, default=8, help="0: none")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> None:
    collection = folder / "collection"
    passages = next(options.input.glob("passages.jsonl*"))
    subprocess.run(convqa("index", passages, "--collection", collection, "--quiet"), check=True)
    common = ("--pipeline", options.pipeline, "--collection", collection, "--batch-size", options.batch_size)
    results: dict[str, list[dict[str, float]]] = {kind: [] for kind in options.kinds}
    runs: set[bytes] = set()
    for number in range(options.rounds):
        for kind in options.kinds:
            output = folder / f"{kind}-{number}".replace(" ", "-")
            results[kind].append(run(output, options.input, output, *common, *KINDS[kind]))
            runs.add((output / "run.json").read_bytes())
        print(f"round {number + 1}, load {os.getloadavg()[0]:.1f}", flush=True)
    print("| | whole command, s | answering, s | processor time, s | memory of a worker, MB | unshared, MB |")
    for kind, rounds in results.items():
        print(f"| {kind} |", " | ".join(f"{median(one[name] for one in rounds):.1f}" for name in rounds[0]), "|")
    for kind in ("processes 2", "ray 2"):
        if kind in results:
            output = folder / f"killed-{kind[:3]}"
            killed = run(output, options.input, output, *common, *KINDS[kind], kill=True)
            runs.add((output / "run.json").read_bytes())
            print(f"{kind}, a worker killed: answering {killed['answering']:.1f} s", flush=True)
    if options.shards:
        runs.add(merge(options, folder, common))
    print("all run files are the same bytes" if len(runs) == 1 else f"{len(runs)} different run files")


def merge(options: argparse.Namespace, folder: Path, common: tuple[object, ...]) -> bytes:
    """Return the run file of merged shards."""
    shards = [folder / f"shard{number}" for number in range(1, options.shards + 1)]
    for number, output in enumerate(shards, 1):
        run(output, options.input, output, *common, "--shard", f"{number}/{len(shards)}")
    merged, start = folder / "merged", time.perf_counter()
    subprocess.run(convqa("merge", merged, *shards), check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    turns = orjson.loads((merged / "run.meta.json").read_bytes())["counts"]["turns"]
    print(f"merge of {len(shards)} shards of {turns} turns: {seconds:.1f} s", flush=True)
    return (merged / "run.json").read_bytes()


if __name__ == "__main__":
    main()
