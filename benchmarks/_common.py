"""What the benchmarks share: arguments, timing, memory, and tables."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"


def arguments(doc: str | None, data: bool = True) -> argparse.ArgumentParser:
    """A parser whose help is the script's docstring, with ``--data`` unless the script reads none."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data:
        parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    return parser


def rates(ways: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """Items/s of each way, of its best round; a way returns how many items it did.

    Each way is done once uncounted, then in turns with the others, so that other work on the machine hits all alike.
    The best round counts, since other work makes one slower, never faster.
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


def peak_mb() -> float:
    """Peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table, each row as soon as it is measured."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
