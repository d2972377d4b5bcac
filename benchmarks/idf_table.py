"""Builds the table of document frequencies that :mod:`convqa.text.idf` reads.

    python benchmarks/idf_table.py SUMMARIES.json

Writes ``convqa/text/idf-en.tsv.gz``: the number of articles in the first line, then a word and its document frequency
per line. SUMMARIES.json is {title: {"title": ..., "extract": ...}}, the lead paragraphs of Wikipedia articles. The same
input gives the same bytes.
"""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import orjson
from _common import arguments

import convqa.text.idf
from convqa.text.analysis import analyzer
from convqa.text.idf import CEILING


def frequencies(texts: Iterable[str], language: str) -> tuple[int, dict[str, int]]:
    """Return the number of texts, and the number of texts with each word."""
    counted: Counter[str] = Counter()
    number = 0
    for text in texts:
        counted.update(set(analyzer(language).words(text)))
        number += 1
    return number, counted


def write(number: int, counted: dict[str, int], path: Path) -> int:
    """Write the words whose idf is below the ceiling, sorted, and return their number."""
    least = number / math.exp(CEILING)
    kept = sorted((word, count) for word, count in counted.items() if count > least)
    lines = [f"#\t{number}", *(f"{word}\t{count}" for word, count in kept)]
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        packed.write(("\n".join(lines) + "\n").encode("utf-8"))
    return len(kept)


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("summaries", type=Path, help="JSON file with title and extract of each article")
    parser.add_argument("--language", default="en")
    parser.add_argument("--output", type=Path, help="output file (default: next to convqa/text/idf.py)")
    options = parser.parse_args()
    articles = orjson.loads(options.summaries.read_bytes()).values()
    texts = (f"{article['title']}\n{article['extract']}" for article in articles)
    path = options.output or Path(convqa.text.idf.__file__).parent / f"idf-{options.language}.tsv.gz"
    print(f"{path}: {write(*frequencies(texts, options.language), path)} words, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
