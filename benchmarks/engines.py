"""Do all engines rank alike, how fast are they, and how much memory and disk do they take?

    python tests/services/elasticsearch_server.py run -- python benchmarks/engines.py equality [--data ../shared/data]
    python tests/services/elasticsearch_server.py run --heap 2g -- python benchmarks/engines.py million [--counts N]
    python benchmarks/engines.py folder [--counts 1000000] [--language pl]

Prints tables. ``equality`` and ``million`` need Elasticsearch and the extra anserini.

``equality``: plain questions (copy-bm25) on six sets of conversations, Cranfield and Vaswani, each a collection of its
own, in every engine at k1 .82, b .68. The other commands search passages of synthetic.py.

``million``: time to index, size, memory, cold open and queries/s by batch size. In the same process and rounds also
Haystack's ElasticsearchBM25Retriever (fuzziness 0) and Anserini's SimpleSearcher, one question at a time. The last
phase, ``threads``, compares the embedded store with Lucene, on one thread and on two.

``folder``: the embedded store: time, disk, memory, cold open, questions/s one at a time and as one batch. With two
counts or more, it also extrapolates linearly to the 7,097,322 passages of PolEval's Polish wiki.

Every phase runs in its own process; k = 100 (10 for Polish), without texts; the best of three rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import ir_measures
import orjson
from _common import Figures, arguments, folder_mb, own_process, peak_mb, rates, table
from conversation_sets import SETS
from ir_measures import RR, R
from lucene_equality import Qrels, queries, union
from synthetic import passages, questions

from convqa.domain import Passage, Query
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams

ENGINES = ("embedded", "elasticsearch", "anserini")
PARAMS = SearchParams(0.82, 0.68)
BATCHES = (1, 16, 64, 256)
ROUNDS = 3
TOP = 100
WIKI = 7_097_322


def collections(data: Path) -> Iterator[tuple[str, list[Passage], dict[str, str], Qrels]]:
    """Yield name, passages, questions and relevance grades of each set."""
    for name in SETS:
        with (data / "conversations" / name / "passages.jsonl").open(encoding="utf-8") as lines:
            passages = [Passage(f"{name}/{r['id']}", r["text"], r.get("title", "")) for r in map(json.loads, lines)]
        yield name, passages, *queries(data, name, "questions.json")
    yield "cranfield", *_cranfield(data / "cranfield")
    vaswani = [passage for passage in union(data) if passage.id.startswith("vaswani/")]
    yield "vaswani", vaswani, *queries(data, "vaswani")


def _cranfield(folder: Path) -> tuple[list[Passage], dict[str, str], Qrels]:
    documents = ((record.split()[0], _sections(record)) for record in _records(folder / "cran.all.1400"))
    passages = [Passage(number, parts["W"]) for number, parts in documents if parts["W"]]
    # Judgments identify a question by its position.
    texts = {str(place): _sections(record)["W"] for place, record in enumerate(_records(folder / "cran.qry"), 1)}
    qrels: Qrels = {}
    for line in (folder / "QRelsCorrectedforTRECeval").read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        qrels.setdefault(topic, {})[document] = int(grade)
    return passages, texts, qrels


def _records(path: Path) -> list[str]:
    return re.split(r"^\.I ", path.read_text(encoding="latin-1"), flags=re.MULTILINE)[1:]


def _sections(record: str) -> dict[str, str]:
    """Return texts by letter; the text (W) repeats the title (T)."""
    parts = re.split(r"^\.([TABW])[ ]*\n", record, flags=re.MULTILINE)
    return {letter: " ".join(text.split()) for letter, text in zip(parts[1::2], parts[2::2], strict=True)}


def address(args: argparse.Namespace, engine: str, name: str) -> str:
    """Return the URL of a collection in the scratch folder or on the server."""
    if engine == "elasticsearch":
        return f"{args.elasticsearch}/bench-{name.replace('_', '-')}"
    folder = args.scratch / f"{engine}-{name}"
    return f"anserini:{folder}" if engine == "anserini" else str(folder)


def anserini(records: Iterable[dict[str, str]], source: Path, url: str) -> None:
    """Index with Anserini, two threads."""
    source.mkdir()
    with (source / "passages.jsonl").open("wb") as file:
        for record in records:
            contents = f"{record.get('title', '')}\n{record['text']}".strip()
            file.write(orjson.dumps({"id": record["id"], "contents": contents}, option=orjson.OPT_APPEND_NEWLINE))
    options = ["-collection", "JsonCollection", "-input", str(source), "-index", url.removeprefix("anserini:")]
    options += ["-generator", "DefaultLuceneDocumentGenerator", "-threads", "2", "-storeRaw"]
    code = "import sys; from convqa.stores.anserini.java import java_class as j; " + (
        "j('io.anserini.index.IndexCollection').main(sys.argv[1:])"
    )
    subprocess.run([sys.executable, "-c", code, *options], check=True, capture_output=True)


def searcher(args: argparse.Namespace) -> Any:
    """Open Anserini's SimpleSearcher on the million."""
    from convqa.stores.anserini.java import SEARCHER, java_class

    found = java_class(SEARCHER)(str(args.scratch / "anserini-million"))
    found.set_bm25(PARAMS.k1, PARAMS.b)
    return found


def equality(args: argparse.Namespace) -> None:
    head = ["set", "passages", "turns", *ENGINES, "largest MRR difference", "top 10 shared, least"]
    table(head, (compared(args, *one) for one in collections(args.data)), "engines/equality")


def compared(
    args: argparse.Namespace, name: str, some: list[Passage], texts: dict[str, str], qrels: Qrels
) -> list[str]:
    asked = [turn for turn in texts if turn in qrels]
    runs = {}
    for engine in ENGINES:
        url = address(args, engine, name)
        if engine == "anserini":
            anserini((passage.to_json() for passage in some), args.scratch / f"source-{name}", url)
        else:
            with create_store(url, "en", replace=True) as made:
                made.add(some)
        store = open_store(url)
        found = store.search([Query(texts[turn]) for turn in asked], TOP, PARAMS, texts=0)
        runs[engine] = {turn: {hit.id: hit.score for hit in each.hits} for turn, each in zip(asked, found, strict=True)}
        store.close()
    scores = [ir_measures.calc_aggregate([RR, R @ 100], qrels, run) for run in runs.values()]
    mrr = [one[RR] for one in scores]
    shared = min(_shared(runs["embedded"], runs[engine]) for engine in ENGINES[1:])
    cells = [f"{one[RR]:.4f} / {one[R @ 100]:.4f}" for one in scores]
    return [name, f"{len(some):,}", str(len(asked)), *cells, f"{max(mrr) - min(mrr):.4f}", f"{shared:.3f}"]


def _shared(one: dict[str, dict[str, float]], other: dict[str, dict[str, float]]) -> float:
    """Return the mean share of common hits in the first ten."""
    pairs = [(set(list(one[turn])[:10]), set(list(other[turn])[:10])) for turn in one]
    return sum(len(a & b) / max(len(a), len(b), 1) for a, b in pairs) / len(pairs)


# Phases, each in a process of its own. ``--engine`` says which engine a phase is of.


def write(args: argparse.Namespace) -> Figures:
    path = args.scratch / "passages.jsonl"
    with path.open("wb") as file:
        for record in passages(args.data, args.language, args.counts[0]):
            file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    return {"JSONL, MB": path.stat().st_size / 1e6}


def build(args: argparse.Namespace) -> Figures:
    from convqa.indexing import read_passages
    from convqa.stores import create_store

    source, who = args.scratch / "passages.jsonl", resource.RUSAGE_SELF
    start = time.perf_counter()
    if args.engine == "anserini":
        with source.open("rb") as file:
            anserini(map(orjson.loads, file), args.scratch / "source", args.url)
        who = resource.RUSAGE_CHILDREN
    else:
        with create_store(args.url, args.language, True) as store:
            store.add(read_passages([source]))
    wall, used = time.perf_counter() - start, resource.getrusage(who)
    found = {
        "index, s": wall,
        "index, passages/s": args.counts[0] / wall,
        "index, CPU s": used.ru_utime + used.ru_stime,
        "index, peak memory, MB": peak_mb(who),
    }
    if args.what == "million" and args.engine == "elasticsearch":
        found["server's memory after, MB"] = _resident(_pids(args.elasticsearch))
        found["the same passages in Haystack's index by bulk, s"] = _fill_haystack(args)
    return found | (_sizes(args) if args.engine != "elasticsearch" else {"disk, MB": _stored(args.url)})


def _sizes(args: argparse.Namespace) -> Figures:
    """Return the size of a collection's folder and, for the embedded store, of its kinds of files."""
    folder = Path(args.url.removeprefix("anserini:"))
    found = {"disk, MB": folder_mb(folder)}
    if args.what == "folder":
        for path in filter(Path.is_file, folder.rglob("*")):
            name = f"disk, MB: {path.name.split('.')[0]}"
            found[name] = found.get(name, 0) + path.stat().st_size / 1e6
    return found


def _ask(url: str) -> Any:
    with urllib.request.urlopen(url.replace("elasticsearch:", "http:"), timeout=60) as answer:
        return json.load(answer)


def _stored(url: str) -> float:
    return float(_ask(f"{url}*/_stats/store")["_all"]["total"]["store"]["size_in_bytes"]) / 1e6


def _pids(server: str) -> list[int]:
    return [node["process"]["id"] for node in _ask(f"{server}/_nodes/process")["nodes"].values()]


def _resident(pids: Sequence[int]) -> float:
    """Return the current memory of processes in megabytes."""
    statuses = [Path(f"/proc/{pid}/status").read_text(encoding="ascii") for pid in pids]
    return sum(int(status.partition("VmRSS:")[2].split()[0]) for status in statuses) / 1e3


def _haystack(args: argparse.Namespace) -> Any:
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

    return ElasticsearchDocumentStore(
        hosts=args.elasticsearch.replace("elasticsearch:", "http:"), index="bench-haystack"
    )


def _fill_haystack(args: argparse.Namespace) -> float:
    """Fill the index with the client's helper: Haystack's writer (about 500 documents/s) would take half an hour."""
    from elasticsearch import Elasticsearch
    from elasticsearch.helpers import streaming_bulk
    from haystack import Document

    _haystack(args).count_documents()
    client = Elasticsearch(args.elasticsearch.replace("elasticsearch:", "http:"), request_timeout=120)

    def actions() -> Iterator[dict[str, Any]]:
        with (args.scratch / "passages.jsonl").open("rb") as file:
            for record in map(orjson.loads, file):
                document = Document(id=record["id"], content=f"{record.get('title', '')} {record['text']}")
                yield {"_index": "bench-haystack", "_id": record["id"][:500], "_source": document.to_dict()}

    start = time.perf_counter()
    for _ in streaming_bulk(client, actions(), chunk_size=2000):
        pass
    client.indices.refresh(index="bench-haystack")
    client.options(request_timeout=600).indices.forcemerge(index="bench-haystack", max_num_segments=1)
    return time.perf_counter() - start


def search(args: argparse.Namespace) -> Figures:
    """Measure cold search (first open and search of a process, without imports), then alternating rounds."""
    asked, top = questions(args.data, args.language, args.queries), TOP if args.language == "en" else 10
    start = time.perf_counter()
    store = open_store(args.url)
    opened = time.perf_counter() - start
    store.search([Query(asked[0])], top, PARAMS, texts=20)
    found = {"open, ms": 1e3 * opened, "first question, ms": 1e3 * (time.perf_counter() - start - opened)}

    def batches(size: int) -> int:
        for first in range(0, len(asked), size):
            store.search([Query(text) for text in asked[first : first + size]], top, PARAMS, texts=0)
        return len(asked)

    if args.what == "folder":
        found |= _one_at_a_time(args, asked, top)
    else:
        ways = {f"batch {size}": partial(batches, size) for size in BATCHES}
        best = rates(ways | _rivals(args, asked[:128]), ROUNDS)
        found |= {f"{name}, q/s": rate for name, rate in best.items()}
        for rival in best.keys() - ways.keys():
            found[f"best batch / {rival}"] = max(best[name] for name in ways) / best[rival]
        if args.engine == "elasticsearch":
            found["server's memory, MB"] = _resident(_pids(args.elasticsearch))
    return found | {"search, peak memory, MB": peak_mb()}


def _one_at_a_time(args: argparse.Namespace, asked: Sequence[str], top: int) -> Figures:
    """Measure both stop word lists one at a time (second of two rounds) and as one batch."""
    store = open_store(args.url)
    found: Figures = {}
    everything = [Query(text) for text in asked]

    def timed(work: Callable[[Query], object]) -> list[float]:
        for _ in range(2):
            latencies = []
            for query in everything:
                start = time.perf_counter()
                work(query)
                latencies.append(1e3 * (time.perf_counter() - start))
        return sorted(latencies)

    for params in (SearchParams(0.82, 0.68), SearchParams(0.82, 0.68, stopwords="long")):
        name = f"stopwords {params.stopwords}"
        latencies = timed(lambda query, params=params: store.search([query], top, params, texts=0))  # type: ignore[misc]
        found[f"{name}, q/s"] = 1e3 * len(asked) / sum(latencies)
        for percent in (50, 95):
            found[f"{name}, p{percent} ms"] = latencies[len(latencies) * percent // 100]
        start = time.perf_counter()
        store.search(everything, top, params, texts=0)
        found[f"{name}, all as one batch, s"] = time.perf_counter() - start
    return found


def _rivals(args: argparse.Namespace, asked: Sequence[str]) -> dict[str, Callable[[], int]]:
    """Measure the alternatives, one question at a time."""

    def each(work: Callable[[str], object]) -> Callable[[], int]:
        return lambda: len([work(text) for text in asked])

    if args.engine == "elasticsearch":
        from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchBM25Retriever

        retriever = ElasticsearchBM25Retriever(document_store=_haystack(args), fuzziness="0", top_k=TOP)
        return {"Haystack's ElasticsearchBM25Retriever": each(lambda text: retriever.run(query=text))}
    if args.engine == "anserini":
        lucene = searcher(args)
        return {"SimpleSearcher in a loop": each(lambda text: [hit.docid for hit in lucene.search(text, TOP)])}
    return {}


def threads(args: argparse.Namespace) -> Figures:
    """Measure the embedded store in batches of 64, and Lucene, by threads."""
    asked, lucene = questions(args.data, "en", args.queries), searcher(args)
    store = open_store(str(args.scratch / "embedded-million"))

    def ours(count: int) -> int:
        os.environ["OMP_NUM_THREADS"] = str(count)
        for start in range(0, len(asked), 64):
            store.search([Query(text) for text in asked[start : start + 64]], TOP, PARAMS, texts=0)
        return len(asked)

    def each(work: Callable[[str], object], count: int) -> int:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda first: [work(text) for text in asked[first::count]], range(count)))
        return len(asked)

    ways: dict[str, Callable[[], int]] = {}
    for count in (1, 2):
        ways[f"embedded, {count}"] = partial(ours, count)
        ways[f"Lucene, {count}"] = partial(each, lambda text: [hit.docid for hit in lucene.search(text, TOP)], count)
    return {f"{name} threads, q/s": rate for name, rate in rates(ways, args.rounds).items()}


def phase(name: str, args: argparse.Namespace, engine: str, count: int, url: str) -> Figures:
    options = ["--phase", name, "--scratch", args.scratch, "--data", args.data, "--counts", count, "--url", url]
    options += ["--engine", engine, "--language", args.language, "--rounds", args.rounds]
    options += ["--queries", args.queries] if args.queries else []
    options += ["--elasticsearch", args.elasticsearch] if args.elasticsearch else []
    found: Figures = own_process(__file__, args.what, *options)
    return found


def million(args: argparse.Namespace) -> None:
    count = args.counts[0]
    print(f"{count:,} passages, {args.queries} questions, k = {TOP}, no texts\n")
    phases = [(name, engine) for name in ("build", "search") for engine in args.engines]
    phases += [("threads", "embedded")] if {"embedded", "anserini"} <= set(args.engines) else []

    def rows() -> Iterator[list[str]]:
        for name, engine in [("write", ""), *phases]:
            found = phase(name, args, engine, count, address(args, engine, "million") if engine else "")
            yield from ([f"{name} {engine}", measure, f"{value:,.1f}"] for measure, value in found.items())

    table(["phase", "measure", "value"], rows())


def folder(args: argparse.Namespace) -> None:
    columns: list[Figures] = []
    for count in args.counts:
        with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
            own = argparse.Namespace(**{**vars(args), "scratch": Path(scratch)})
            parts = [
                phase(name, own, "embedded", count, f"{scratch}/collection") for name in ("write", "build", "search")
            ]
            columns.append({name: value for part in parts for name, value in part.items()})

    rows = ([n, *(f"{one[n]:,.1f}" for one in columns), ahead(n, args.counts, columns)] for n in columns[0])
    table(["measure", *(f"{count:,}" for count in args.counts), f"extrapolated to {WIKI:,}"], rows)


def ahead(name: str, counts: Sequence[int], columns: Sequence[Figures]) -> str:
    """Extrapolate a measure linearly to ``WIKI`` passages from the last two counts.

    Empty for one count, for rates and for memory of mapped files.
    """
    grows = name.startswith(("JSONL", "index,", "disk", "stopwords")) and not name.endswith("/s")
    if len(counts) < 2 or not grows:
        return ""
    (one, two), (low, high) = counts[-2:], (column[name] for column in columns[-2:])
    return f"{low + (high - low) * (WIKI - one) / (two - one):,.1f}"


WAYS = {"equality": equality, "million": million, "folder": folder}
PHASES = {"write": write, "build": build, "search": search, "threads": threads}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=WAYS)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, help="of million")
    parser.add_argument("--counts", type=int, nargs="+", help="numbers of passages; million takes one")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--language", choices=("en", "pl"), default="en", help="of folder")
    parser.add_argument("--rounds", type=int, default=5, help="of the phase threads")
    parser.add_argument("--scratch", type=Path, help="where files are made (default: a temporary folder)")
    parser.add_argument("--elasticsearch", default=os.environ.get("CONVQA_TEST_ELASTICSEARCH"), metavar="URL")
    parser.add_argument(
        "--phase", choices=PHASES, help="run only this phase, in this process and scratch folder; print JSON"
    )
    for hidden, kind in {"url": str, "engine": str}.items():
        parser.add_argument(f"--{hidden}", type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.language == "en":
        args.queries = args.queries or (600 if args.what == "folder" else 512)
    if args.phase:
        print(json.dumps(PHASES[args.phase](args)))
        return
    polish = [250_000, 1_000_000] if args.language == "pl" else [1_000_000]
    args.counts = args.counts or polish
    args.engines = args.engines or ENGINES
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        args.scratch = Path(scratch)
        WAYS[args.what](args)


if __name__ == "__main__":
    main()
