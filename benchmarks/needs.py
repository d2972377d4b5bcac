"""How much memory, disk and time do millions of passages need? Computed from measured rates and Elastic's formulas.

    python benchmarks/needs.py [--passages 54573064] [--turns 16451]

Prints a table. Nothing is measured here: each figure is a measured one times a size, or a formula. ``--passages`` and
``--turns`` default to SCAI-QReCC-21, and ``--bytes`` to the mean JSON size of the 326 passages of the bundled example.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from _common import arguments, table

DIMENSION = 384
NEIGHBORS = 16
"""Of each vector in an HNSW graph (Elasticsearch's ``m``)."""

MEASURED = 1_000_000, 674
"""Passages, and bytes of each, of the measurements below (docs/benchmarks/engines.md, a million passages)."""
EMBEDDED_BYTES, ELASTICSEARCH_BYTES = 1406, 711
EMBEDDED_RATE, ELASTICSEARCH_RATE = 4379, 3018
EMBEDDED_QUERIES, ELASTICSEARCH_QUERIES = 59, 42
"""On disk and to index (passages/s), and queries/s one at a time."""

ENCODED = 130, 52
"""Passages/s on two cores: of 80 words; and of 380 words, cut at the encoder's 256 tokens (encoders.py speed on the
bundled example), which take 2.5 times as long (processor time of 150 passages each of the sets and of QReCC)."""
EXACT_QUERIES = 134
"""Queries/s over 500,000 vectors in memory, 64 at a time."""
CANDIDATES = 30
MACHINE = 56
"""Gigabytes that an index may use on a machine with 64 GB."""


@dataclass(frozen=True)
class Need:
    """Gigabytes, hours on two cores to index, hours for all turns. None: not applicable."""

    name: str
    disk: float
    memory: float
    index: float
    turns: float | None


def vector_bytes(kind: str) -> float:
    """Return the bytes of memory of one vector, without its graph (Elastic's sizing guide for kNN search).

    >>> [vector_bytes(kind) for kind in ("float32", "int8", "int4", "bit")]
    [1536, 388, 196.0, 62.0]
    """
    return {
        "float32": DIMENSION * 4,
        "int8": DIMENSION + 4,
        "int4": DIMENSION / 2 + 4,
        "bit": DIMENSION / 8 + 14,
    }[kind]


def needs(passages: int, turns: int, size: int) -> Iterator[Need]:
    """Return the needs of each way to search. Words grow with the bytes, vectors with the passages."""
    growth = passages / MEASURED[0]
    volume = growth * size / MEASURED[1]
    slow = ENCODED[1 if size > 2 * MEASURED[1] else 0]
    encoding = passages / slow / 3600

    def words(bytes_each: int, memory: float, rate: int, queries: int, name: str) -> Need:
        disk = bytes_each * MEASURED[0] * volume / 1e9
        return Need(name, disk, memory, MEASURED[0] * volume / rate / 3600, turns * growth / queries / 3600)

    bm25 = words(ELASTICSEARCH_BYTES, 8.0, ELASTICSEARCH_RATE, ELASTICSEARCH_QUERIES, "BM25, Elasticsearch")
    yield words(EMBEDDED_BYTES, 0.5 * growth, EMBEDDED_RATE, EMBEDDED_QUERIES, "BM25, a folder")
    yield bm25
    floats, graph = passages * vector_bytes("float32") / 1e9, passages * NEIGHBORS * 4 / 1e9
    exact = turns * (passages / 500_000) / EXACT_QUERIES / 3600
    yield Need("dense float32, exact, a folder", floats, floats, encoding, exact)
    part = passages * vector_bytes("int8") / 1e9
    yield Need("dense int8, HNSW, re-scored", floats + part + graph, part + graph, encoding, None)
    candidates = turns * CANDIDATES / slow / 3600
    yield Need("BM25, candidates encoded", bm25.disk + 2.1, bm25.memory, bm25.index, (bm25.turns or 0.0) + candidates)


HEAD = ("computed", "disk, GB", "memory, GB", "machines of 64 GB", "to index, h on 2 cores", "all turns, h")


def cells(need: Need) -> list[str]:
    turns = "not computed" if need.turns is None else f"{need.turns:,.1f}"
    machines = str(math.ceil(need.memory / MACHINE))
    return [need.name, f"{need.disk:,.0f}", f"{need.memory:,.1f}", machines, f"{need.index:,.0f}", turns]


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--passages", type=int, default=54_573_064)
    parser.add_argument("--turns", type=int, default=16_451)
    parser.add_argument("--bytes", type=int, default=2500, help="of a passage's JSON")
    args = parser.parse_args()
    table(HEAD, map(cells, needs(args.passages, args.turns, args.bytes)))


if __name__ == "__main__":
    main()
