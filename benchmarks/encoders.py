"""What one encoder loses against another: cosines of their vectors, and MRR@10 of plain questions over a closed set.

    python benchmarks/encoders.py ENCODER OTHER ... [--data ../shared/data] [--sets inscit_dev cast2020]

An encoder is a name, or NAME:PRECISION. The first is the yardstick: its questions are also asked of the vectors that
the others made of the passages ("mixed"), as where a GPU made them and a laptop asks. A set's passages are title and
text; its questions are as they were asked, without history; turns without a gold passage are left out.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from _common import arguments

from convqa.metrics.reciprocal_rank import reciprocal_rank
from convqa.models import Options, TextEncoder, load_encoder


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--sets", nargs="+", default=["inscit_dev", "cast2020"])
    options = parser.parse_args()
    named = [name.partition(":")[::2] for name in options.encoders]
    encoders = [load_encoder(name, Options(precision=precision or "auto")) for name, precision in named]
    for name in options.sets:
        report(options.data / "conversations" / name, encoders)


def report(folder: Path, encoders: list[TextEncoder]) -> None:
    lines = (folder / "passages.jsonl").read_text(encoding="utf-8").strip().split("\n")
    passages = [json.loads(line) for line in lines]
    texts = [f"{passage.get('title') or ''} {passage['text']}".strip() for passage in passages]
    asked = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    gold = {(turn["Conversation_no"], turn["Turn_no"]): turn["Truth_passages"] for turn in truth}
    turns = [(turn["Question"], gold[turn["Conversation_no"], turn["Turn_no"]]) for turn in asked]
    turns = [(question, relevant) for question, relevant in turns if relevant]
    found = [(one.encode(texts), one.encode([question for question, _ in turns], "query")) for one in encoders]
    for encoder, made in zip(encoders[1:], found[1:], strict=True):
        for kind, one, other in zip(("passages", "questions"), found[0], made, strict=True):
            cosines = (one * other).sum(axis=1)
            about = f"{folder.name}: {len(one)} {kind} of {encoder.name} ({encoder.runs})"
            print(f"{about}: cosine mean {cosines.mean():.4f}, least {cosines.min():.4f}")
    ids = [passage["id"] for passage in passages]
    ways = [(f"{encoder.name} ({encoder.runs})", *made) for encoder, made in zip(encoders, found, strict=True)]
    ways += [(f"mixed with {name}", matrix, found[0][1]) for name, matrix, _ in ways[1:]]
    for name, matrix, queries in ways:
        best = np.argsort(-(queries @ matrix.T), axis=1, kind="stable")[:, :10]
        ranked = [[ids[place] for place in row] for row in best]
        scores = [reciprocal_rank(relevant, row, 10) for (_, relevant), row in zip(turns, ranked, strict=True)]
        print(f"{folder.name}: MRR@10 of {name}: {np.mean(scores):.4f} of {len(scores)} turns", flush=True)


if __name__ == "__main__":
    main()
