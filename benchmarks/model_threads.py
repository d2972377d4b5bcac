"""How fast an encoder is alone and beside busy neighbours, by the way its threads wait.

    python benchmarks/model_threads.py SHIPPED_OR_ONNX_FOLDER [--torch FOLDER] [--neighbours 2] [--texts 64]

Each way runs in a process of its own on the example's passages, first alone, then beside processes that only count.
``alone`` must be alone: start this on an idle machine. Ways: ``workers`` is convqa's own (one thread a sequence,
sequences side by side); ``intra`` gives ONNX Runtime all threads for each sequence, with or without spinning;
``torch`` batches by length, with OpenMP's threads spinning (its default) or asleep while they wait.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from _common import ROOT, arguments


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("encoder")
    parser.add_argument("--torch")
    parser.add_argument("--neighbours", type=int, default=2)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options)))
        return
    ways = ["workers", "intra-asleep", "intra-spinning", *(["torch-asleep", "torch-spinning"] if options.torch else [])]
    for way in ways:
        alone = speed(way)
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.neighbours)]
        try:
            beside = speed(way)
        finally:
            for process in busy:
                process.kill()
        print(f"{way:<16} alone {alone:6.1f} texts/s   beside {options.neighbours}: {beside:6.1f} texts/s")


def speed(way: str) -> float:
    """Texts per second of a way, in a process of its own."""
    environment = dict(os.environ)
    if way == "torch-spinning":
        environment |= {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "30000000000"}
    command = [sys.executable, __file__, *sys.argv[1:], "--way", way]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure(options: argparse.Namespace) -> float:
    from convqa.models import load_encoder
    from convqa.models.tokens import load_tokenizer

    file = ROOT / "examples" / "qrecc-trec" / "passages.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in itertools.islice(lines, options.texts)]
    if options.way.startswith("intra"):
        from convqa.models.source import find_model

        folder = find_model(options.encoder).path
        tokenizer = load_tokenizer(folder, 256)
        model = session(folder, options.way)
        return timed(lambda some: intra(model, tokenizer.texts(some)), texts)
    name = options.torch if options.way.startswith("torch") else options.encoder
    return timed(load_encoder(name).encode, texts)


def session(folder: Path, way: str) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(way == "intra-spinning")))
    return ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


def intra(model: Any, sequences: Sequence[Any]) -> None:
    import numpy as np

    for sequence in sequences:
        ids = np.array([sequence.ids])
        model.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})


def timed(work: Callable[[list[str]], Any], texts: list[str]) -> float:
    work(texts[:4])
    best = 0.0
    for _ in range(2):
        start = time.perf_counter()
        work(texts)
        best = max(best, len(texts) / (time.perf_counter() - start))
    return best


if __name__ == "__main__":
    main()
