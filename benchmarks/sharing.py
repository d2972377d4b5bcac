"""How much does sharing work save in an ablation? Runs the shipped rewriter grid with and without it.

    python benchmarks/sharing.py [--input ../shared/data/conversations/cast2020] [--rounds 2]

Prints a table: seconds of the cells, whether all run.json have the same bytes, mean milliseconds per turn, and the peak
memory of any process in the first and last ten cells. Each round runs both ways in turn, into new folders, over the
same prepared collection with vectors.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import mean

import orjson
from _common import DATA, arguments


def memory(done: threading.Event, output: Path, seen: list[tuple[int, float]]) -> None:
    """Yield (cells so far, MB of the grid's largest process) five times a second."""
    while not done.wait(0.2):
        cells = sum(1 for _ in output.glob("cells/*/*"))
        sizes = []
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                if b"multiprocessing" in (status.parent / "cmdline").read_bytes():
                    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
                    sizes.append(int(line.split()[1]) / 1024)
            except (OSError, StopIteration):
                continue
        if sizes:
            seen.append((cells, max(sizes)))


def run(source: Path, output: Path, *options: str) -> tuple[float, list[tuple[int, float]]]:
    """Return the seconds of the grid, and its memory over time."""
    seen: list[tuple[int, float]] = []
    done = threading.Event()
    watch = threading.Thread(target=memory, args=(done, output, seen))
    watch.start()
    start = time.perf_counter()
    command = [sys.executable, "-m", "convqa", "ablate", "rewriters", str(source), str(output), "--quiet", *options]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    done.set()
    watch.join()
    return seconds, seen


def milliseconds(output: Path) -> float:
    cells = orjson.loads((output / "ablation.json").read_bytes())["cells"]
    return float(mean(sum(cell["milliseconds"].values()) for cell in cells if cell["status"] == "done"))


def main() -> None:
    parser = arguments(__doc__, data=False)
    default = DATA / "conversations" / "cast2020"
    parser.add_argument("--input", type=Path, default=default)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch) / "first"
        run(options.input, first, "--turns", "30")
        print("| round | way | s | ms per turn | MB, first ten cells | MB, last ten |\n|---|---|---|---|---|---|")
        for number in range(options.rounds):
            files: dict[str, dict[str, bytes]] = {}
            for way, flag in (("shared", "--sharing"), ("apart", "--no-sharing")):
                output = Path(scratch) / f"{way}{number}"
                shutil.copytree(first / "collections", output / "collections")
                seconds, seen = run(options.input, output, flag)
                last = max(cells for cells, _ in seen)
                early = max(size for cells, size in seen if cells <= 10)
                late = max(size for cells, size in seen if cells > last - 10)
                figures = f"{seconds:.1f} | {milliseconds(output):.1f} | {early:.0f} | {late:.0f}"
                print(f"| {number + 1} | {way} | {figures} |", flush=True)
                files[way] = {str(one.relative_to(output)): one.read_bytes() for one in output.rglob("run.json")}
            same = sum(files["shared"][name] == files["apart"][name] for name in files["apart"])
            print(f"\n{same} of {len(files['apart'])} run.json are the same bytes.\n")


if __name__ == "__main__":
    main()
