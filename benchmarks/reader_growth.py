"""How a reader's time and memory grow: passages of a turn, tokens of a passage.

    python benchmarks/reader_growth.py [--model reader] [--passages 10 100 1000] [--tokens 100 400 1600 8000]

Passages are cut from the bundled example's texts. Each row is a process of its own: its peak of memory over that after
loading, and the time of one turn. Passages of a turn have about 120 tokens; contexts of so many tokens are read ten a
turn.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import time

from _common import arguments, table

from convqa.components.readers.extractive import Extractive
from convqa.domain import Hit, Passage, Query, Ranking, Rewrite, Turn, TurnId
from convqa.places import shipped

QUESTION = "What did the people of the city think about the new law?"
WORDS_OF_100_TOKENS = 75
SHORT = 120
CONTEXTS = 10


def texts(number: int, tokens: int) -> list[str]:
    """So many texts of about so many tokens, all different."""
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as lines:
        words = [word for line in lines for word in json.loads(line)["text"].split()]
    length = tokens * WORDS_OF_100_TOKENS // 100
    step = max(1, (len(words) - length) // number)
    return [" ".join(words[place * step : place * step + length]) for place in range(number)]


def work(model: str, number: int, tokens: int) -> dict[str, float]:
    station = Extractive(model=model, passages=number)
    station.warm_up()
    hits = [Hit(str(place), 1.0, Passage(str(place), text)) for place, text in enumerate(texts(number, tokens))]
    turns, rewrites = [Turn(TurnId(1, 1), QUESTION)], [Rewrite(QUESTION, (Query(QUESTION),))]
    station.read_batch(turns, rewrites, [Ranking(tuple(hits[:1]))])
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    [reading] = station.read_batch(turns, rewrites, [Ranking(tuple(hits))])
    seconds = time.perf_counter() - start
    assert reading.spans
    return {"seconds": seconds, "more": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - loaded) / 1024}


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--model", default="reader")
    parser.add_argument("--passages", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--tokens", type=int, nargs="+", default=[100, 400, 1600, 8000])
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.model, *options.work)))
        return
    rows = []
    shapes = [(number, SHORT) for number in options.passages] + [(CONTEXTS, tokens) for tokens in options.tokens]
    for number, tokens in shapes:
        command = [sys.executable, __file__, "--model", options.model, "--work", str(number), str(tokens)]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode:
            sys.exit(ended.stderr[-3000:])
        made = json.loads(ended.stdout.splitlines()[-1])
        thousand = number * tokens / 1000
        rows.append([f"{number}", f"{tokens}", f"{made['seconds']:.2f}", f"{1000 * made['seconds'] / thousand:.0f}",
                     f"{made['more']:.0f}"])  # fmt: skip
        print("done:", rows[-1], flush=True)
    table(["passages", "tokens each (about)", "s a turn", "ms for 1,000 tokens", "MB more at the peak"], rows)


if __name__ == "__main__":
    main()
