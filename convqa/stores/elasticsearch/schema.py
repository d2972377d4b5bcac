"""An index that convqa makes: what a document holds, and what the index says about itself.

Documents: ``_id`` is a digest of the passage's id (an ``_id`` has at most 512 bytes, an id of QReCC up to 1,401); the
id itself is a doc value, which is also the fastest to read. ``tokens`` are those of title and text, by our own
analysis, joined by blanks. ``d0`` ... ``d7`` are the passage's digest in parts of 16 bits, so that the server can sum
them exactly. ``batch`` is the part of a load that wrote the document, ``place`` its number in the load: by them is
found what a killed load left, and told whether a document came before or is that of a request which was sent twice.
The passage lies in ``_source`` only. Vectors lie in an index of their own beside it (``NAME-vectors``), under the same
``_id``: they come and go without touching the text side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any

from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.content import CHECKSUMS

FORMAT = "convqa-index"
VERSION = 1
PARTS = tuple(f"d{number}" for number in range(8))
"""The fields of a digest's 16-bit parts, the lowest first."""

LONGEST_ID = 32_766
"""Bytes: what Lucene takes as a doc value."""

_PART = 16


@dataclass(frozen=True, slots=True)
class Record:
    """What an index of passages says about itself: ``_meta`` of its mapping, replaced by every commit.

    ``batches`` were committed: documents of a later one do not count. ``writing`` stands while a transaction is at
    work, or after one that was killed; ``shown`` too, while searches may see or count what is not committed. ``ready``
    is False while the index is built for the first time; ``prefix`` then has a digest for each of the first
    ``batches``, up to and including it: where a killed build goes on. ``k1`` and ``b`` are those it is built with; what
    the server scores with later, the index's settings say.
    """

    language: str
    analyzer: str
    k1: float
    b: float
    count: int = 0
    checksum: str = "0" * 32
    ready: bool = False
    batches: int = 0
    writing: bool = False
    shown: bool = False
    prefix: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def of(cls, meta: Mapping[str, Any], name: str) -> Record:
        """The record of an index, from its ``_meta``.

        :raises InputError: if convqa did not make it, or a later version did.
        :raises StoreDamaged: if it lacks something.
        """
        check_version(meta, name)
        try:
            found = cls(**{field.name: meta[field.name] for field in fields(cls)})
        except KeyError as error:
            raise StoreDamaged(f"index {name}: its _meta lacks {error}: index its passages again.") from error
        object.__setattr__(found, "prefix", tuple(found.prefix))
        return found


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """What an index of vectors says about itself: who encoded them, and how they are kept.

    ``count`` is that of the last commit; with 0 there are none yet. ``filters``: whether its documents have the meta
    terms of their passages.
    """

    encoder: Encoder
    options: VectorOptions
    count: int = 0
    filters: bool = True

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def of(cls, meta: Mapping[str, Any], name: str) -> VectorRecord:
        """The record of an index of vectors, from its ``_meta``.

        :raises InputError: if convqa did not make it, or a later version did.
        :raises StoreDamaged: if it lacks something.
        """
        check_version(meta, name)
        try:
            options = VectorOptions(**meta["options"])
            return cls(Encoder(**meta["encoder"]), options, meta["count"], meta.get("filters", False))
        except (KeyError, TypeError) as error:
            raise StoreDamaged(f"index {name}: its _meta lacks {error}: make its vectors again.") from error


def check_version(meta: Mapping[str, Any], name: str) -> None:
    """:raises InputError: if convqa did not make the index that says this, or a later version did."""
    if meta.get("format") != FORMAT:
        raise InputError(f"index {name} was not made by convqa.")
    if not isinstance(meta.get("version"), int) or meta["version"] > VERSION:
        raise InputError(
            f"index {name} has format {meta.get('version')!r}; this version of convqa reads up to {VERSION}. Use a "
            "newer convqa, or index the passages again with --replace."
        )


def vectors_of(index: str) -> str:
    """The index of vectors beside one of passages."""
    return f"{index}-vectors"


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
    """An index that is searched only after a refresh that we ask for, and from which deletions can be expunged."""
    return {
        "number_of_shards": shards,
        "number_of_replicas": replicas,
        "refresh_interval": "-1",
        "merge.policy.expunge_deletes_allowed": 0,
        "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
        "analysis": {
            "analyzer": {"convqa": {"type": "custom", "tokenizer": "convqa"}},
            # Our tokens have at most 255 characters, which may be twice as many for Lucene.
            "tokenizer": {"convqa": {"type": "whitespace", "max_token_length": 1024}},
        },
    }


def mappings(record: Record) -> dict[str, Any]:
    number = {"type": "integer", "index": False}
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
            "batch": {"type": "integer"},
            **dict.fromkeys(PARTS, number),
        },
    }
