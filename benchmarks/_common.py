"""Helpers of the benchmarks: arguments, processes, timing, memory, tables and files."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tables

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

Figures = dict[str, float]


def arguments(doc: str | None, data: bool = True) -> argparse.ArgumentParser:
    """Return a parser with ``--write`` and, unless ``data`` is false, ``--data``; its help is the docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the script's tables in docs/benchmarks")
    if data:
        parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    return parser


def own_process(script: str, *options: object, env: Mapping[str, str] | None = None) -> Any:
    """Run a script in a new process, with its own memory and caches, and parse its last line as JSON."""
    command = [sys.executable, script, *map(str, options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout.splitlines()[-1])


def convqa(*options: object, env: Mapping[str, str] | None = None) -> str:
    """Run a command of the command line and return its output.

    :raises SystemExit: with the output if it fails.
    """
    command = [sys.executable, "-m", "convqa", *map(str, options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    if done.returncode:
        raise SystemExit(f"convqa {' '.join(map(str, options))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def rates(ways: Mapping[str, Callable[[], int]], rounds: int) -> Figures:
    """Return the items/s of each way in its best round; a way returns its number of items.

    Each way runs once uncounted. The ways then alternate, so that other work on the machine slows all alike. The best
    round counts, because other work only makes a round slower.
    """
    best = dict.fromkeys(ways, 0.0)
    for work in ways.values():
        work()
    for _ in range(rounds):
        for way, work in ways.items():
            start = time.perf_counter()
            items = work()
            best[way] = max(best[way], items / (time.perf_counter() - start))
    return best


def peak_mb(who: int = resource.RUSAGE_SELF) -> float:
    """Return the peak memory of this process, or of its children."""
    return resource.getrusage(who).ru_maxrss / 1e3


def folder_mb(folder: Path, pattern: str = "*") -> float:
    """Return the size of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file()) / 1e6


def table(head: Sequence[str], rows: Iterable[Sequence[str]], name: str = "") -> None:
    """Print a Markdown table, each row as soon as it is measured.

    :param name: ``PAGE/NAME`` of the table in docs/benchmarks that ``--write`` replaces.
    """
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    printed = []
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
        printed.append(row)
    if name and "--write" in sys.argv:
        words = [word for word in sys.argv[1:] if word != "--write"]
        tables.record(name, head, printed, ["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])


def save(record: Any, path: Path | None) -> None:
    """Write figures as JSON if a path was given."""
    if path:
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def lines(path: Path, records: Iterable[Any]) -> None:
    """Write a file of JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
