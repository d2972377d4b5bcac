"""How many turns a second do the shipped pipelines answer, in two versions of convqa?

    python benchmarks/pipelines.py PYTHON [OTHER_PYTHON] [--pipelines default talk ...] [--limit 12] [--rounds 2]

PYTHON is the interpreter of an environment with convqa, such as .venv/bin/python. Each version indexes the passages of
inscit_dev, with vectors where its ``index`` makes them or can be asked to, and runs the first conversations with each
pipeline, with empty caches. The runs of the versions alternate. Prints turns a second of the best round, start of the
process included, and megabytes at the peak.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from _common import arguments, table

PIPELINES = ("expansion-bm25", "hybrid", "default", "talk")


def convqa(python: str, *options: object, folder: Path) -> tuple[float, float]:
    """Run a command of a version. Return its seconds and the MB of memory at its peak."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": ""}
    command = [python, "-m", "convqa", *map(str, options)]
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(errors.decode())
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def has_vectors(collection: Path) -> bool:
    return bool(list(collection.rglob("*vectors*")))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--pipelines", nargs="+", default=PIPELINES)
    parser.add_argument("--limit", type=int, default=12, help="conversations")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    source = (options.data / "conversations" / "inscit_dev").resolve()
    pythons = [str(Path(python).absolute()) for python in options.pythons]
    numbers = sorted({record["Conversation_no"] for record in json.loads((source / "questions.json").read_bytes())})
    chosen = set(numbers[: options.limit])
    records = json.loads((source / "questions.json").read_bytes())
    turns = sum(record["Conversation_no"] in chosen for record in records)
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside)
        for place, python in enumerate(pythons):
            collection = folder / f"collection-{place}"
            convqa(python, "index", source / "passages.jsonl", "--collection", collection, folder=folder)
            if not has_vectors(collection):
                convqa(python, "index", "--collection", collection, "--vectors", "encoder", folder=folder)
        rows = []
        for pipeline in options.pipelines:
            best = [(float("inf"), 0.0)] * len(pythons)
            for _ in range(options.rounds):
                for place, python in enumerate(pythons):
                    run = ["run", source, folder / f"run-{place}", "--restart", "--pipeline", pipeline]
                    own = [*run, "--limit", options.limit, "--collection", folder / f"collection-{place}"]
                    best[place] = min(best[place], convqa(python, *own, folder=folder))
            rows.append([pipeline, *(f"{turns / seconds:.1f} / {memory:.0f}" for seconds, memory in best)])
    table([f"turns/s / MB, {turns} turns", *options.pythons], rows)


if __name__ == "__main__":
    main()
