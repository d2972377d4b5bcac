"""Makes the table of document frequencies that :mod:`convqa.text.idf` reads.

``python benchmarks/idf_table.py SUMMARIES.json`` writes ``convqa/text/idf-en.tsv.gz``: a first line with the number of
articles, then a word and its document frequency a line. SUMMARIES.json: {title: {"title": ..., "extract": ...}}, the
lead paragraphs of Wikipedia articles. The same input gives the same bytes.
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
    """The number of texts, and word -> number of texts that have it."""
    counted: Counter[str] = Counter()
    number = 0
    for text in texts:
        counted.update(set(analyzer(language).words(text)))
        number += 1
    return number, counted


def write(number: int, counted: dict[str, int], path: Path) -> int:
    """Write the words whose idf is below the ceiling, by name; returns how many they are."""
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
    parser.add_argument("--output", type=Path, help="where to write; default: beside convqa/text/idf.py")
    options = parser.parse_args()
    articles = orjson.loads(options.summaries.read_bytes()).values()
    texts = (f"{article['title']}\n{article['extract']}" for article in articles)
    path = options.output or Path(convqa.text.idf.__file__).parent / f"idf-{options.language}.tsv.gz"
    print(f"{path}: {write(*frequencies(texts, options.language), path)} words, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
