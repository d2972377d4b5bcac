"""How fast does convqa load passages into Elasticsearch, compared with elasticsearch.helpers.streaming_bulk?

    python tests/services/elasticsearch_server.py run -- python benchmarks/loading.py [--count 27065] [--rounds 3]

Prints a table. Both send the same documents (writer.py), analyzed on the fly, to an index of one shard without
replicas; that of streaming_bulk refreshes every second, the default. Rates of streaming_bulk are until the last
document is searchable. Those of convqa are until the last is acknowledged, and until the collection is in place:
count and checksum verified, segments merged into one. The rounds alternate; each row is the median of its rounds.
"""

from __future__ import annotations

import os
import statistics
import time
import uuid
from collections.abc import Iterator
from typing import Any

from _common import arguments, table
from elasticsearch.helpers import streaming_bulk
from synthetic import english

from convqa.domain import Passage
from convqa.stores import create_store, delete_store
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.schema import Meta, document_id, index_mappings, index_settings
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.stores.elasticsearch.writer import passage_document
from convqa.text.analysis import analyzer

THREADS = (1, 2, 4)


def plain(server: str, passages: list[Passage]) -> dict[str, float]:
    """Load with streaming_bulk's defaults: 500 documents per request, one thread."""
    target = IndexTarget.parse(f"{server}/loading-{uuid.uuid4().hex[:8]}")
    known = client(target)
    made = {**index_settings(1, 0.82, 0.68), "refresh_interval": None}
    known.indices.create(index=target.index, settings=made, mappings=index_mappings(Meta("en", "convqa-en-2")))
    start = time.perf_counter()
    for _ in streaming_bulk(known, actions(target.index, passages)):
        pass
    known.indices.refresh(index=target.index)
    wall = time.perf_counter() - start
    assert known.count(index=target.index)["count"] == len(passages)
    known.indices.delete(index=target.index)
    return {"streaming_bulk, defaults": len(passages) / wall}


def actions(index: str, passages: list[Passage]) -> Iterator[dict[str, Any]]:
    words = analyzer("en")
    for passage in passages:
        document = passage_document(words, document_id(passage.id), passage, "")
        yield {"_op_type": "create", "_index": index, "_id": document.key, "_source": document.source}


def ours(server: str, passages: list[Passage], threads: int) -> dict[str, float]:
    url = f"{server}/loading-{uuid.uuid4().hex[:8]}"
    start = time.perf_counter()
    with create_store(url, "en", settings={"threads": threads}) as store:
        store.add(passages)
        loaded = time.perf_counter() - start
    wall = time.perf_counter() - start
    delete_store(url)
    name = f"convqa, {threads} sending"
    return {f"{name}: loaded": len(passages) / loaded, f"{name}: in place": len(passages) / wall}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--server", default=os.environ.get("CONVQA_TEST_ELASTICSEARCH"))
    parser.add_argument("--count", type=int, default=27_065)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    passages = [Passage.from_json(record) for record in english(args.data, args.count)]
    # Analysis caches words, which would otherwise slow whichever way runs first.
    words = analyzer("en")
    for passage in passages:
        words.tokens(passage.text)
    rates: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        found = plain(args.server, passages)
        for threads in THREADS:
            found |= ours(args.server, passages, threads)
        for name, rate in found.items():
            rates.setdefault(name, []).append(rate)
    first = statistics.median(next(iter(rates.values())))
    print(f"{len(passages):,} passages, median of {args.rounds} rounds\n")
    medians = {name: statistics.median(each) for name, each in rates.items()}
    rows = ([n, f"{one:,.0f}", f"{one / first:.2f}", *map("{:,.0f}".format, rates[n])] for n, one in medians.items())
    table(
        ["way", "passages/s", "ratio", *(f"round {number + 1}" for number in range(args.rounds))],
        rows,
        "engines/loading",
    )


if __name__ == "__main__":
    main()
