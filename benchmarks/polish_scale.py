"""Polish passages by the million in the embedded store: time, disk, memory and questions/s, as PolEval's wiki wants.

PolEval's 7,097,322 passages of the Polish Wikipedia are not at hand. Passages here are sentences of poquad-sample (its
paragraphs and summaries) put together anew to their lengths. Words of at most three texts there give way: some to words
of PolEval's own questions, by Zipf's law, so that the questions find what they would; the others to new forms of
themselves, by a power law, so that the vocabulary goes on growing. Good for timing, never for quality. The questions
are those of test-A and test-B about trivia. Each phase runs in a process of its own.

    python benchmarks/polish_scale.py [--counts 250000 1000000] [--data ../shared/data] [--scratch FOLDER]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import orjson
from _common import arguments, peak_mb, table
from million import RARE, disk, timed
from poleval_standin import articles

from convqa.text.sentences import sentences
from convqa.text.words import words

WIKI = 7_097_322
FOLDERS = ("train", "dev-0", "test-A", "test-B")
K = 10
ASKED = 0.3
"""Share of rare words in whose place a word of a question stands."""
TAIL = 0.8
"""New forms of a word: the share above the n-th is n ** -TAIL."""
_LETTERS = "bcdfghklmnprstwz"


def questions(data: Path, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Set and text."""
    for folder in folders:
        for line in (data / "poleval2022" / folder / "in.tsv").read_text(encoding="utf-8").splitlines():
            domain, text = line.strip().split("\t", 1)
            yield domain, text


def synthetic(data: Path, count: int) -> Iterator[dict[str, str]]:
    """Records of ``count`` passages; the first ones are the same for every count."""
    texts = [passage for article in articles(data) for passage in article.passages]
    lengths, titles = [len(passage.text.split()) for passage in texts], [passage.title for passage in texts]
    df = Counter(word for passage in texts for word in set(words(passage.text)))
    cut = [passage.text[start:end].split() for passage in texts for start, end in sentences(passage.text, "pl")]
    # Each with the places of its rare words.
    whole = [(one, [at for at, word in enumerate(one) if 0 < df[_bare(word)] <= RARE]) for one in cut]
    asked = [word for word, _ in Counter(w for _, text in questions(data, FOLDERS) for w in words(text)).most_common()]
    zipf, chance = list(accumulate(1 / rank for rank in range(1, len(asked) + 1))), random.Random(7)
    for number in range(count):
        wanted, parts = chance.choice(lengths), []
        while len(parts) < wanted:
            sentence, rare = chance.choice(whole)
            start = len(parts)
            parts += sentence
            for at in rare:
                if chance.random() < ASKED:
                    parts[start + at] = asked[bisect(zipf, chance.random() * zipf[-1], 0, len(asked) - 1)]
                else:
                    parts[start + at] += _ending(int(chance.paretovariate(TAIL)) - 1)
        yield {"id": str(number), "title": chance.choice(titles), "text": " ".join(parts)}


def _bare(word: str) -> str:
    return word.strip('.,;:()\u201e\u201d"').lower()


def _ending(number: int) -> str:
    """0 is no ending; another is its digits as letters, behind an x."""
    letters = ""
    while number:
        number, digit = divmod(number, len(_LETTERS))
        letters += _LETTERS[digit]
    return f"x{letters}" if letters else ""


def write(args: argparse.Namespace) -> dict[str, float]:
    with (args.scratch / "passages.jsonl").open("wb") as file:
        for record in synthetic(args.data, args.count):
            file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    return {"JSONL, MB": (args.scratch / "passages.jsonl").stat().st_size / 1e6}


def build(args: argparse.Namespace) -> dict[str, float]:
    from convqa.indexing import index_sources

    start = time.perf_counter()
    index_sources([args.scratch / "passages.jsonl"], str(args.scratch / "collection"), replace=True, language="pl")
    wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "index, s": wall,
        "index, CPU s": used.ru_utime + used.ru_stime,
        "index, passages/s": args.count / wall,
        "index, peak memory, MB": used.ru_maxrss / 1e3,
        **disk(args.scratch / "collection"),
    }


def search(args: argparse.Namespace) -> dict[str, float]:
    """One thread; the second of two rounds for single questions, then all questions as one batch."""
    from convqa.domain import Query
    from convqa.stores import open_store
    from convqa.stores.base import SearchParams

    asked = [Query(text) for domain, text in questions(args.data, FOLDERS[2:]) if domain == "wiki-trivia"]
    start = time.perf_counter()
    store = open_store(str(args.scratch / "collection"))
    store.search(asked[:1], K, SearchParams(), texts=0)
    found = {"questions": float(len(asked)), "open and first question, ms": 1e3 * (time.perf_counter() - start)}
    for stopwords in ("default", "long"):
        params = SearchParams(stopwords=stopwords)
        rate, latencies = timed(lambda query, params=params: store.search([query], K, params, texts=0), asked)
        found[f"stopwords {stopwords}, questions/s"] = rate
        found[f"stopwords {stopwords}, ms per question"] = 1e3 / rate
        for percent in (50, 95):
            found[f"stopwords {stopwords}, p{percent} ms"] = latencies[len(latencies) * percent // 100]
        start = time.perf_counter()
        rankings = store.search(asked, K, params, texts=0)
        found[f"stopwords {stopwords}, all as one batch, s"] = time.perf_counter() - start
        found[f"stopwords {stopwords}, hits per question"] = sum(len(ranking.hits) for ranking in rankings) / len(asked)
    found["memory after, MB (mostly mapped files)"] = peak_mb()
    return found


PHASES = {"write": write, "build": build, "search": search}


def measured(args: argparse.Namespace, count: int) -> dict[str, float]:
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        for phase in PHASES:
            command = [sys.executable, __file__, "--phase", phase, "--scratch", scratch, "--data", str(args.data)]
            done = subprocess.run([*command, "--counts", str(count)], check=True, stdout=subprocess.PIPE, text=True)
            found |= json.loads(done.stdout)
            print(f"{count:,}: {phase} {json.loads(done.stdout)}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--scratch", type=Path, help="where files are made (default: a temporary folder)")
    parser.add_argument("--phase", choices=PHASES, help="only this phase, in this process, printed as JSON")
    args = parser.parse_args()
    if args.phase:
        args.count = args.counts[0]
        print(json.dumps(PHASES[args.phase](args)))
        return
    rows = [measured(args, count) for count in args.counts]
    table(["measure", *(f"{count:,}" for count in args.counts), f"a line to {WIKI:,}"], shown(rows, args.counts))


def shown(rows: Sequence[Mapping[str, float]], counts: Sequence[int]) -> Iterator[list[str]]:
    """A measure a line, with its value at ``WIKI`` by the last two counts where it grows."""
    for name in rows[0]:
        values = [row[name] for row in rows]
        ahead = f"{line(counts[-2:], values[-2:], WIKI):,.1f}" if len(rows) > 1 and grows(name) else ""
        yield [name, *(f"{value:,.1f}" for value in values), ahead]


def grows(name: str) -> bool:
    """Whether a measure is one that grows as the passages do: no rate, and not what mapped files take."""
    return name.startswith(("JSONL", "index, s", "index, CPU", "index, peak", "disk", "stopwords")) and not (
        name.endswith("/s") or "hits" in name
    )


def line(counts: Sequence[int], values: Sequence[float], count: int) -> float:
    """The value at ``count`` of the line through two points.

    >>> line([1, 3], [10.0, 20.0], 5)
    30.0
    """
    (one, two), (low, high) = counts, values
    return low + (high - low) * (count - one) / (two - one)


if __name__ == "__main__":
    main()
