"""How many turns a second do the shipped pipelines answer, and with how much memory?

    python benchmarks/pipelines.py [--pipelines default talk ...] [--limit 10] [--rounds 2] [--data ../shared/data]

Indexes the passages of inscit_dev with vectors, then runs its first conversations with each pipeline, with empty
caches.
Prints turns a second of the best round, start of the process included, and megabytes at the peak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _common import ROOT, arguments, table

PIPELINES = ("expansion-bm25", "hybrid", "default", "talk")


def convqa(*options: object, folder: Path) -> tuple[float, float]:
    """Run a command. Return its seconds and the MB of memory at its peak."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "convqa", *map(str, options)]
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(errors.decode())
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--pipelines", nargs="+", default=PIPELINES)
    parser.add_argument("--limit", type=int, default=10, help="conversations")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    source = (options.data / "conversations" / "inscit_dev").resolve()
    records = json.loads((source / "questions.json").read_bytes())
    numbers = sorted({record["Conversation_no"] for record in records})
    chosen = set(numbers[: options.limit])
    turns = sum(record["Conversation_no"] in chosen for record in records)
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside)
        index = ["index", source / "passages.jsonl", "--collection", folder / "collection", "--vectors", "encoder"]
        convqa(*index, folder=folder)
        rows = []
        for pipeline in options.pipelines:
            run = ["run", source, folder / "run", "--restart", "--pipeline", pipeline, "--limit", options.limit]
            rounds = [convqa(*run, "--collection", folder / "collection", folder=folder) for _ in range(options.rounds)]
            seconds, memory = min(rounds)
            rows.append([pipeline, f"{turns / seconds:.1f}", f"{memory:.0f}"])
    table([f"pipeline, {turns} turns", "turns/s", "peak MB"], rows, "speed/pipelines")


if __name__ == "__main__":
    main()
