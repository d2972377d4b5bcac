"""One protocol, three engines: the same rankings, and how fast. Needs an Elasticsearch and the extra ``anserini``.

    python tests/services/elasticsearch_server.py run -- python benchmarks/engines.py equality [--data ../shared/data]
    python tests/services/elasticsearch_server.py run --heap 2g -- python benchmarks/engines.py million [--count N]

``equality``: the question as it stands (copy-bm25) on six sets of conversations, Cranfield and Vaswani, each a
collection of its own, in every engine at k1 .82, b .68. ``million``: real and synthetic passages (million.py); time to
index, size, memory, cold open, queries/s by batch size, and beside them, in the same process and rounds, Haystack's
ElasticsearchBM25Retriever (fuzziness 0) turn by turn, and Anserini's SimpleSearcher one question at a time. Its last
phase, ``threads``, compares the embedded store with tantivy alone and with Lucene, by one thread and by two, in turns.
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

import ir_measures
import orjson
from _common import arguments, peak_mb, rates
from ir_measures import RR, R
from lucene_equality import Qrels, queries, union
from million import questions, synthetic

from convqa.domain import Passage, Query
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams, Store

SETS = ("inscit_dev", "cast2020", "mtrag_un", "or_sharc_dev", "clapnq_dev", "qrecc_trec_sample")
ENGINES = ("embedded", "elasticsearch", "anserini")
PARAMS = SearchParams(0.82, 0.68)
BATCHES = (1, 16, 64, 256)
TOP = 100


def collections(data: Path) -> Iterator[tuple[str, list[Passage], dict[str, str], Qrels]]:
    """Name, passages, questions and relevance grades of each set."""
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
    # Judgements name a question by its place.
    texts = {str(place): _sections(record)["W"] for place, record in enumerate(_records(folder / "cran.qry"), 1)}
    qrels: Qrels = {}
    for line in (folder / "QRelsCorrectedforTRECeval").read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        qrels.setdefault(topic, {})[document] = int(grade)
    return passages, texts, qrels


def _records(path: Path) -> list[str]:
    return re.split(r"^\.I ", path.read_text(encoding="latin-1"), flags=re.MULTILINE)[1:]


def _sections(record: str) -> dict[str, str]:
    """Letter -> text; the text (W) repeats the title (T)."""
    parts = re.split(r"^\.([TABW])[ ]*\n", record, flags=re.MULTILINE)
    return {letter: " ".join(text.split()) for letter, text in zip(parts[1::2], parts[2::2], strict=True)}


class Makers:
    """Collections in a scratch folder and on a server, by engine."""

    def __init__(self, scratch: Path, server: str) -> None:
        self.scratch, self.server = scratch, server

    def url(self, engine: str, name: str) -> str:
        if engine == "elasticsearch":
            return f"{self.server}/bench-{name.replace('_', '-')}"
        folder = self.scratch / f"{engine}-{name}"
        return f"anserini:{folder}" if engine == "anserini" else str(folder)

    def make(self, engine: str, name: str, passages: Iterable[Passage]) -> str:
        url = self.url(engine, name)
        if engine == "anserini":
            source = self.scratch / f"source-{name}"
            source.mkdir()
            with (source / "passages.jsonl").open("wb") as file:
                for passage in passages:
                    record = {"id": passage.id, "contents": f"{passage.title}\n{passage.text}".strip()}
                    file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            index_anserini(source, self.scratch / f"{engine}-{name}")
        else:
            with create_store(url, "en", replace=True) as store:
                store.add(passages)
        return url


def index_anserini(source: Path, folder: Path) -> None:
    """Anserini's own indexing, two threads."""
    options = ["-collection", "JsonCollection", "-input", str(source), "-index", str(folder)]
    options += ["-generator", "DefaultLuceneDocumentGenerator", "-threads", "2", "-storeRaw"]
    code = "import sys; from convqa.stores.anserini.java import java_class as j; " + (
        "j('io.anserini.index.IndexCollection').main(sys.argv[1:])"
    )
    subprocess.run([sys.executable, "-c", code, *options], check=True, capture_output=True)


def equality(args: argparse.Namespace, makers: Makers) -> None:
    print(f"| set | passages | turns | {' | '.join(ENGINES)} | largest MRR difference | top 10 shared, least |")
    print("|" + "---|" * 8)
    for name, passages, texts, qrels in collections(args.data):
        asked = [turn for turn in texts if turn in qrels]
        runs = {}
        for engine in ENGINES:
            store = open_store(makers.make(engine, name, passages))
            found = store.search([Query(texts[turn]) for turn in asked], TOP, PARAMS, texts=0)
            runs[engine] = dict(zip(asked, ([(hit.id, hit.score) for hit in each.hits] for each in found), strict=True))
            store.close()
        scores = {
            engine: ir_measures.calc_aggregate([RR, R @ 100], qrels, {turn: dict(hits) for turn, hits in run.items()})
            for engine, run in runs.items()
        }
        mrr = [scores[engine][RR] for engine in ENGINES]
        cells = " | ".join(f"{scores[engine][RR]:.4f} / {scores[engine][R @ 100]:.4f}" for engine in ENGINES)
        shared = min(_shared(runs["embedded"], runs[engine]) for engine in ENGINES[1:])
        print(
            f"| {name} | {len(passages):,} | {len(asked)} | {cells} | {max(mrr) - min(mrr):.4f} | {shared:.3f} |",
            flush=True,
        )


def _shared(one: dict[str, list[tuple[str, float]]], other: dict[str, list[tuple[str, float]]]) -> float:
    """Mean share of the first ten hits."""
    pairs = [({id for id, _ in one[turn][:10]}, {id for id, _ in other[turn][:10]}) for turn in one]
    return sum(len(a & b) / max(len(a), len(b), 1) for a, b in pairs) / len(pairs)


def million(args: argparse.Namespace, makers: Makers) -> None:
    """Every phase in a process of its own."""
    phases = [
        "write",
        *(f"build-{engine}" for engine in args.engines),
        *(f"search-{engine}" for engine in args.engines),
        *(["threads"] if {"embedded", "anserini"} <= set(args.engines) else []),
    ]
    print(
        f"{args.count:,} passages, {args.queries} questions, k = {TOP}, no texts\n\n"
        "| phase | measure | value |\n|---|---|---|"
    )
    for phase in phases:
        command = [sys.executable, __file__, "phase", "--phase", phase, "--scratch", str(makers.scratch)]
        command += ["--count", str(args.count), "--queries", str(args.queries), "--data", str(args.data)]
        if makers.server:
            command += ["--elasticsearch", makers.server]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for name, value in json.loads(done.stdout.splitlines()[-1]).items():
            print(f"| {phase} | {name} | {value:,.2f} |", flush=True)


def phase(args: argparse.Namespace, makers: Makers) -> None:
    kind, _, engine = args.phase.partition("-")
    if kind == "write":
        print(json.dumps(write(args, makers)))
    else:
        print(json.dumps({"build": build, "search": search, "threads": threads}[kind](args, makers, engine)))


def write(args: argparse.Namespace, makers: Makers) -> dict[str, float]:
    """Once as convqa reads it, once as Anserini does."""
    folder = makers.scratch / "source"
    folder.mkdir()
    with (makers.scratch / "passages.jsonl").open("wb") as ours, (folder / "passages.jsonl").open("wb") as theirs:
        for record in synthetic(args.data, args.count):
            ours.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            contents = f"{record.get('title', '')}\n{record['text']}".strip()
            theirs.write(orjson.dumps({"id": record["id"], "contents": contents}, option=orjson.OPT_APPEND_NEWLINE))
    return {"JSONL, MB": (makers.scratch / "passages.jsonl").stat().st_size / 1e6}


def build(args: argparse.Namespace, makers: Makers, engine: str) -> dict[str, float]:
    from convqa.indexing import index_sources

    url, start = makers.url(engine, "million"), time.perf_counter()
    if engine == "anserini":
        index_anserini(makers.scratch / "source", makers.scratch / "anserini-million")
    else:
        index_sources([makers.scratch / "passages.jsonl"], url, replace=True)
    wall = time.perf_counter() - start
    who = resource.RUSAGE_CHILDREN if engine == "anserini" else resource.RUSAGE_SELF
    found = {
        "wall, s": wall,
        "passages/s": args.count / wall,
        "peak memory of the indexing process, MB": resource.getrusage(who).ru_maxrss / 1e3,
        "disk, MB": _size(makers, engine) / 1e6,
    }
    if engine == "elasticsearch":
        found["server's memory after, MB"] = _server_memory(makers.server)
        found["the same passages in Haystack's index by bulk, s"] = _fill_haystack(makers)
    return found


def _size(makers: Makers, engine: str) -> float:
    if engine == "elasticsearch":
        stats = _ask(f"{makers.url(engine, 'million')}/_stats/store")
        return float(stats["_all"]["total"]["store"]["size_in_bytes"])
    return sum(path.stat().st_size for path in (makers.scratch / f"{engine}-million").rglob("*") if path.is_file())


def _ask(url: str) -> dict:
    with urllib.request.urlopen(url.replace("elasticsearch:", "http:"), timeout=60) as answer:
        return json.load(answer)


def _server_memory(server: str) -> float:
    pids = [node["process"]["id"] for node in _ask(f"{server}/_nodes/process")["nodes"].values()]
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3


def _haystack(makers: Makers):  # noqa: ANN202
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

    return ElasticsearchDocumentStore(hosts=makers.server.replace("elasticsearch:", "http:"), index="bench-haystack")


def _fill_haystack(makers: Makers) -> float:
    """By the client's own helper: Haystack's writer, at some 500 documents/s, would take half an hour."""
    from elasticsearch import Elasticsearch
    from elasticsearch.helpers import streaming_bulk
    from haystack import Document

    store = _haystack(makers)
    store.count_documents()
    client = Elasticsearch(makers.server.replace("elasticsearch:", "http:"), request_timeout=120)

    def actions() -> Iterator[dict]:
        with (makers.scratch / "passages.jsonl").open("rb") as lines:
            for record in map(orjson.loads, lines):
                document = Document(id=record["id"], content=f"{record.get('title', '')} {record['text']}")
                yield {"_index": "bench-haystack", "_id": record["id"][:500], "_source": document.to_dict()}

    start = time.perf_counter()
    for _ in streaming_bulk(client, actions(), chunk_size=2000):
        pass
    client.indices.refresh(index="bench-haystack")
    client.options(request_timeout=600).indices.forcemerge(index="bench-haystack", max_num_segments=1)
    return time.perf_counter() - start


def search(args: argparse.Namespace, makers: Makers, engine: str) -> dict[str, float]:
    """Cold: the first opening and search of a process, imports apart. Then three rounds, all ways in turn; the best."""
    asked = questions(args.data, args.queries)
    start = time.perf_counter()
    store = open_store(makers.url(engine, "million"))
    opened = time.perf_counter() - start
    store.search([Query(asked[0])], TOP, PARAMS, texts=20)
    found = {"open, ms": 1e3 * opened, "first question, ms": 1e3 * (time.perf_counter() - start - opened)}
    ways = {f"batch {size}": _batched(store, size) for size in BATCHES} | _rivals(makers, engine)
    best = dict.fromkeys(ways, 0.0)
    for _ in range(3):
        for name, way in ways.items():
            best[name] = max(best[name], way(asked))
    for name, rate in best.items():
        found[f"{name}, q/s"] = rate
    rivals = best.keys() - {f"batch {size}" for size in BATCHES}
    for rival in rivals:
        found[f"best batch / {rival}"] = max(best[f"batch {size}"] for size in BATCHES) / best[rival]
    found["peak memory of the process, MB"] = peak_mb()
    if engine == "elasticsearch":
        found["server's memory, MB"] = _server_memory(makers.server)
    return found


def _batched(store: Store, size: int) -> Callable[[Sequence[str]], float]:
    def way(asked: Sequence[str]) -> float:
        start = time.perf_counter()
        for place in range(0, len(asked), size):
            store.search([Query(text) for text in asked[place : place + size]], TOP, PARAMS, texts=0)
        return len(asked) / (time.perf_counter() - start)

    return way


def _rivals(makers: Makers, engine: str) -> dict[str, Callable[[Sequence[str]], float]]:
    """What a user would have instead, one question at a time."""
    if engine == "elasticsearch":
        from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchBM25Retriever

        retriever = ElasticsearchBM25Retriever(document_store=_haystack(makers), fuzziness="0", top_k=TOP)
        return {"Haystack's ElasticsearchBM25Retriever": _one_by_one(lambda text: retriever.run(query=text))}
    if engine == "anserini":
        from convqa.stores.anserini.java import SEARCHER, java_class

        searcher = java_class(SEARCHER)(str(makers.scratch / "anserini-million"))
        searcher.set_bm25(0.82, 0.68)
        return {"SimpleSearcher in a loop": _one_by_one(lambda text: [hit.docid for hit in searcher.search(text, TOP)])}
    return {}


def threads(args: argparse.Namespace, makers: Makers, _: str) -> dict[str, float]:
    """Tantivy's top 300 not re-scored, the embedded store in batches of 64, and Lucene, by one thread and by two."""
    from convqa.stores.anserini.java import SEARCHER, java_class
    from convqa.stores.embedded import search as embedded

    asked = questions(args.data, args.queries)
    folder = makers.scratch / "embedded-million"
    store, state = open_store(str(folder)), embedded.Snapshot.open(folder)
    searcher = java_class(SEARCHER)(str(makers.scratch / "anserini-million"))
    searcher.set_bm25(0.82, 0.68)

    def bare(text: str) -> None:
        query = state.candidates.query(state.weights(Query(text), PARAMS), None, None)
        state.candidates.best(query, embedded.FEWEST_CANDIDATES)

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
        ways[f"bare top 300, {count}"] = partial(each, bare, count)
        ways[f"embedded, {count}"] = partial(ours, count)
        ways[f"Lucene, {count}"] = partial(each, lambda text: [hit.docid for hit in searcher.search(text, TOP)], count)
    return {f"{name} threads, q/s": rate for name, rate in rates(ways, args.rounds).items()}


def _one_by_one(ask: Callable[[str], object]) -> Callable[[Sequence[str]], float]:
    def way(asked: Sequence[str]) -> float:
        some = asked[:128]
        start = time.perf_counter()
        for text in some:
            ask(text)
        return len(some) / (time.perf_counter() - start)

    return way


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=("equality", "million", "phase"))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5, help="of the phase threads")
    parser.add_argument("--scratch", type=Path, help="where files are made (default: a temporary folder)")
    parser.add_argument("--elasticsearch", default=os.environ.get("CONVQA_TEST_ELASTICSEARCH"), metavar="URL")
    parser.add_argument("--phase", help="of million: only this one, in this process and scratch folder, as JSON")
    args = parser.parse_args()
    if args.what == "phase":
        phase(args, Makers(args.scratch, args.elasticsearch))
        return
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        {"equality": equality, "million": million}[args.what](args, Makers(Path(scratch), args.elasticsearch))


if __name__ == "__main__":
    main()
