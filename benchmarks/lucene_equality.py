"""Does the embedded store rank as well as Lucene? nDCG@10, MRR and recall@100 on four public sets.

    python benchmarks/lucene_equality.py [--data ../shared/data] [--scratch FOLDER]

Prints a table. One collection holds 27,065 passages: the six sets under data/conversations, 10,033 Wikipedia leads and
Vaswani. Queries are the sets' rewritten questions. The collection is closed (most passages answer some question), so
only differences are meaningful. The Elasticsearch rows were measured with Elasticsearch 8.19 (analyzer ``english``, one
shard, k1 .82, b .68) on the same collection and queries.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import ir_measures
from _common import arguments, table
from conversations import SETS
from ir_measures import RR, R, nDCG

from convqa.domain import Passage, Query
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams

MEASURES = (nDCG @ 10, RR, R @ 100)
ELASTICSEARCH = {
    "cast2020": (0.606, 0.752, 0.967),
    "clapnq_dev": (0.617, 0.574, 0.873),
    "inscit_dev": (0.571, 0.565, 0.887),
    "vaswani": (0.432, 0.666, 0.601),
}

Qrels = dict[str, dict[str, int]]


def union(data: Path) -> Iterator[Passage]:
    """Return the 27,065 passages; an id begins with the name of its set."""
    for folder in (data / "conversations" / name for name in sorted(SETS)):
        with (folder / "passages.jsonl").open(encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                yield Passage(f"{folder.name}/{record['id']}", record["text"], record.get("title", ""))
    for page in json.loads((data / "wiki" / "summaries-en.json").read_text(encoding="utf-8")).values():
        yield Passage(f"wiki/{page['title']}", page["extract"], page["title"])
    for number, text in _trec(data / "vaswani" / "doc-text.trec", r"<DOC>\s*<DOCNO>(.*?)</DOCNO>(.*?)</DOC>"):
        yield Passage(f"vaswani/{number}", text)


def queries(data: Path, name: str, file: str = "questions-rewritten.json") -> tuple[dict[str, str], Qrels]:
    """Return a set's questions and relevance grades by question."""
    if name == "vaswani":
        return _vaswani(data / "vaswani")
    folder = data / "conversations" / name
    questions = json.loads((folder / file).read_text(encoding="utf-8"))
    truths = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    texts = {_turn(record): record["Question"] for record in questions}
    qrels: Qrels = {}
    for truth in truths:
        grades = truth.get("Relevance") or dict.fromkeys(truth.get("Truth_passages") or (), 1)
        if grades:
            qrels[_turn(truth)] = {f"{name}/{id}": int(grade) for id, grade in grades.items()}
    return texts, qrels


def _vaswani(folder: Path) -> tuple[dict[str, str], Qrels]:
    topics = dict(_trec(folder / "query-text.trec", r"<num>(.*?)</num><title>(.*?)</title>"))
    qrels: Qrels = {}
    for line in (folder / "qrels").read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        qrels.setdefault(topic, {})[f"vaswani/{document}"] = int(grade)
    return topics, qrels


def _trec(path: Path, pattern: str) -> Iterator[tuple[str, str]]:
    for number, text in re.findall(pattern, path.read_text(encoding="utf-8"), re.DOTALL):
        yield number.strip(), text.strip()


def _turn(record: dict[str, int]) -> str:
    return f"{record['Conversation_no']}_{record['Turn_no']}"


def measure(url: str, data: Path, name: str, params: SearchParams) -> tuple[float, ...]:
    """Return the three measures over the questions with a relevant passage."""
    texts, qrels = queries(data, name)
    asked = [turn for turn in texts if turn in qrels]
    rankings = open_store(url).search([Query(texts[turn]) for turn in asked], 100, params, texts=0)
    run = {turn: {hit.id: hit.score for hit in ranking.hits} for turn, ranking in zip(asked, rankings, strict=True)}
    found = ir_measures.calc_aggregate(MEASURES, qrels, run)
    return tuple(found[each] for each in MEASURES)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--scratch", type=Path, help="where the collection is built (default: a temporary folder)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        url = str(Path(scratch) / "collection")
        with create_store(url, "en") as store:
            store.add(union(args.data))
        print(f"{open_store(url).info().count:,} passages; nDCG@10 / MRR / recall@100, k1 .82, b .68\n")
        head = ["set", "Elasticsearch 8.19", "embedded", "largest difference", "embedded, stopwords: long"]
        table(head, (_row_of(url, args.data, name) for name in ELASTICSEARCH), "engines/lucene")


def _row_of(url: str, data: Path, name: str) -> list[str]:
    short = measure(url, data, name, SearchParams(0.82, 0.68))
    long = measure(url, data, name, SearchParams(0.82, 0.68, stopwords="long"))
    gap = max(abs(ours - theirs) for ours, theirs in zip(short, ELASTICSEARCH[name], strict=True))
    return [name, _row(ELASTICSEARCH[name]), _row(short), f"{gap:.4f}", _row(long)]


def _row(values: tuple[float, ...]) -> str:
    return " / ".join(f"{value:.3f}" for value in values)


if __name__ == "__main__":
    main()
