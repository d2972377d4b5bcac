"""How well the rewriter `gated` knows which questions need the conversation: its signs beside human rewrites.

    python benchmarks/gating.py [--data ../shared/data]

A question needs the conversation where the human rewrite has other words (compared in lower case, without signs).
Turns with a history only; "validation" is a part on which signs may be chosen, the others are reported on
(docs/training.md).
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from convqa.text.dialogue import follows_up
from convqa.text.words import words
from convqa.training.data.rewrites import Example, split

ROOT = Path(__file__).resolve().parents[1]


def line(name: str, examples: list[Example]) -> str:
    start = time.perf_counter()
    signs = [follows_up(example.question) for example in examples]
    spent = 1e6 * (time.perf_counter() - start) / len(examples)
    needs = [words(example.question) != words(example.rewrite) for example in examples]
    rewritten = [bool(sign) for sign in signs]
    found = sum(need and sign for need, sign in zip(needs, rewritten, strict=True))
    kept = sum(not need and not sign for need, sign in zip(needs, rewritten, strict=True))
    alone = len(examples) - sum(needs)
    counts = ", ".join(f"{sign} {count}" for sign, count in Counter(filter(None, signs)).most_common())
    return (
        f"| {name} | {len(examples)} | {sum(needs)} | {found / sum(needs):.2f} | {alone} | {kept / alone:.2f} | "
        f"{counts} | {spent:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    made = split(parser.parse_args().data)
    print("| set | turns | need it | of these rewritten | need it not | of these kept | signs | µs a turn |")
    print("|---|---|---|---|---|---|---|---|")
    for name, examples in made.measured.items():
        print(line(name, [example for example in examples if example.history]))


if __name__ == "__main__":
    main()
