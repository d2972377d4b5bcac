"""An index that convqa makes: what a document holds, and what the index says about itself.

Documents: ``_id`` is a digest of the passage's id (an ``_id`` has at most 512 bytes, an id of QReCC up to 1,401); the
id itself is a doc value, which is also the fastest to read. ``tokens`` are those of title and text, by our own analysis,
joined by blanks. ``d0`` ... ``d7`` are the passage's digest in parts of 16 bits, so that the server can sum them
exactly. The passage lies in ``_source`` only. Vectors lie in an index of their own beside it (``NAME-vectors``), under
the same ``_id``: they come and go without touching the text side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.content import CHECKSUMS

FORMAT = "convqa-index"
VERSION = 1
PARTS = tuple(f"d{number}" for number in range(8))
"""The fields of a digest's 16-bit parts, the lowest first."""

_PART = 16


@dataclass(frozen=True, slots=True)
class Record:
    """What an index of passages says about itself: ``_meta`` of its mapping, replaced by every commit."""

    language: str
    analyzer: str
    k1: float
    b: float
    count: int = 0
    checksum: str = "0" * 32
    ready: bool = False
    """False while it is built for the first time."""

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """What an index of vectors says about itself: who encoded them, and how they are kept."""

    encoder: Encoder
    options: VectorOptions
    count: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


def document_id(id: str) -> str:
    """The ``_id`` of a passage."""
    return blake2b(id.encode(), digest_size=16).hexdigest()


def parts(digest: int) -> dict[str, int]:
    """A digest as fields of 16 bits: sums of them are exact in the server's doubles up to 2**37 documents."""
    return {name: digest >> (_PART * place) & (2**_PART - 1) for place, name in enumerate(PARTS)}


def total(sums: Mapping[str, float]) -> int:
    """The sum of digests, modulo 2**128, from the sums of their parts.

    >>> total(parts(12345678901234567890)) == 12345678901234567890
    True
    """
    return sum(int(sums[name]) << (_PART * place) for place, name in enumerate(PARTS)) % CHECKSUMS


def settings(shards: int, replicas: int, k1: float, b: float) -> dict[str, Any]:
    """An index that is searched only after a refresh that we ask for."""
    return {
        "number_of_shards": shards,
        "number_of_replicas": replicas,
        "refresh_interval": "-1",
        "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
        "analysis": {"analyzer": {"convqa": {"type": "whitespace"}}},
    }


def mappings(record: Record) -> dict[str, Any]:
    digest = {"type": "integer", "index": False}
    return {
        "dynamic": False,
        "_meta": record.to_json(),
        "_source": {
            "excludes": ["tokens", "meta", *PARTS],
        },
        "properties": {
            "pid": {"type": "keyword", "index": False, "doc_values": True},
            "tokens": {"type": "text", "analyzer": "convqa", "index_options": "freqs"},
            "meta": {"type": "keyword", "doc_values": False},
            "passage": {"type": "object", "enabled": False},
            **dict.fromkeys(PARTS, digest),
        },
    }
