"""Memory of preparing a training of the reader on files in MRQA's format, by their size.

    python benchmarks/reader_training_memory.py BASE [--contexts 2000 20000]

BASE: the model to start from. The files are written for the measurement: contexts of some 300 words out of the bundled
example, two questions each, gzip. Each row is a process of its own; "before" is its peak after torch and the base were
loaded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from comparing import table

from convqa.places import shipped


def write(path: Path, contexts: int) -> None:
    chance = random.Random(1)
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as lines:
        words = [word for line in lines for word in json.loads(line)["text"].split()]
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write('{"header": {"dataset": "made", "split": "train"}}\n')
        for number in range(contexts):
            start = chance.randrange(len(words) - 300)
            context = f"[TLE] {number} [PAR] " + " ".join(words[start : start + 300])
            qas = []
            for part in range(2):
                answer = words[start + chance.randrange(300)]
                first = context.index(answer)
                detected = {"text": answer, "char_spans": [[first, first + len(answer) - 1]]}
                qas.append({"qid": f"{number}-{part}", "question": f"What is number {number} of the {answer}?",
                            "answers": [answer], "detected_answers": [detected]})  # fmt: skip
            file.write(json.dumps({"context": context, "qas": qas}) + "\n")


def work(base: str, folder: Path) -> dict[str, float]:
    from convqa.models.engines.torch.transformers import load_module
    from convqa.training import reader
    from convqa.training.config import load
    from convqa.training.train import Bench, trainable

    load_module(trainable(base), "AutoModel", "cpu", "float32")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    settings = load("reader", None, {"base": base, "own": ["made.jsonl.gz"], "mix": [{"sets": ["own"]}], "foreign": 0})
    start = time.perf_counter()
    made = reader.Training(settings, Bench(folder, folder))  # type: ignore[arg-type]
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    disk = (folder / "rows.bin").stat().st_size / 2**20
    return {"rows": len(made.rows), "before": before, "peak": peak, "disk": disk, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--contexts", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print("RESULT " + json.dumps(work(options.base, options.work)))
        return
    rows = []
    for contexts in options.contexts:
        with tempfile.TemporaryDirectory() as scratch:
            write(Path(scratch) / "made.jsonl.gz", contexts)
            command = [sys.executable, __file__, options.base, "--work", scratch]
            ended = subprocess.run(command, capture_output=True, text=True)
        line = [line for line in ended.stdout.splitlines() if line.startswith("RESULT ")]
        if not line:
            sys.exit(ended.stderr[-3000:])
        made = json.loads(line[0].removeprefix("RESULT "))
        rows.append([f"{contexts:,}", f"{made['rows']:,}", f"{made['before']:.0f}", f"{made['peak']:.0f}",
                     f"{made['disk']:.0f}", f"{made['seconds']:.0f}"])  # fmt: skip
    table(["contexts", "windows", "MB before", "MB at the peak", "MB on disk", "seconds"], rows)


if __name__ == "__main__":
    main()
