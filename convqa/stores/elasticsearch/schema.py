"""A version of a collection: an index of passages, what its documents hold, and what it says about itself.

Documents: ``_id`` is a digest of the passage's id (an ``_id`` has at most 512 bytes, an id of QReCC up to 1,401); the
id itself is a doc value, which is also the fastest to read. ``tokens`` are those of title and text, by our own
analysis, joined by blanks. ``d0`` ... ``d7`` are the passage's digest in parts of 16 bits, so that the server can sum
them exactly. ``place`` numbers the documents of an index in the order in which they were sent: it tells what a killed
load left, and whether a document came before or is that of a request which was sent twice. The passage lies in
``_source`` only. Vectors lie in an index of their own (``INDEX-vectors``), under the same ``_id``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from convqa.domain import Passage
from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.content import CHECKSUMS, meta_term
from convqa.text.analysis import Analyzer

FORMAT = "convqa-index"
VERSION = 2
PARTS = tuple(f"d{number}" for number in range(8))
"""The fields of a digest's 16-bit parts, the lowest first."""

LONGEST_ID = 32_766
"""Bytes: what Lucene takes as a doc value."""

_PART = 16


class Entry(NamedTuple):
    """A passage on its way into an index, with what is stored of it, the digest of that, and its place."""

    passage: Passage
    content: bytes
    digest: int
    place: int


@dataclass(frozen=True, slots=True)
class Item:
    """One document: its ``_id``, the passage's id for messages, its JSON (empty for a deletion), and what it is of."""

    key: str
    id: str
    body: bytes = b""
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class VectorMeta:
    """The vectors of a version: who encoded them, how they are kept, how many there are, and how often some came."""

    encoder: Encoder
    options: VectorOptions
    count: int = 0
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Meta:
    """An index's description of itself, as ``_meta`` of its mapping.

    ``places`` is the number of the last document. ``ready`` is False while the index is loaded; ``prefix`` then has a
    digest for each batch that is there, up to and including it, and ``count`` and ``checksum`` are of these batches:
    where a killed load goes on.
    """

    language: str
    analyzer: str
    count: int = 0
    checksum: str = "0" * 32
    places: int = 0
    ready: bool = False
    prefix: tuple[str, ...] = ()
    vectors: VectorMeta | None = None

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def of(cls, found: Mapping[str, Any], name: str) -> Meta:
        """The meta of an index.

        :raises InputError: if convqa did not make it, or another version did.
        :raises StoreDamaged: if it lacks something.
        """
        if found.get("format") != FORMAT:
            raise InputError(f"index {name} was not made by convqa.")
        if found.get("version") != VERSION:
            raise InputError(
                f"index {name} has format {found.get('version')!r}; this version of convqa reads {VERSION}. Index the "
                "passages again with --replace, or use the convqa that made it."
            )
        try:
            kept = {field.name: found[field.name] for field in fields(cls)}
            vectors = kept["vectors"]
            if vectors is not None:
                options = VectorOptions(**vectors["options"])
                vectors = VectorMeta(Encoder(**vectors["encoder"]), options, vectors["count"], vectors["commits"])
            return cls(**{**kept, "prefix": tuple(kept["prefix"]), "vectors": vectors})
        except (KeyError, TypeError) as error:
            raise StoreDamaged(f"index {name}: its _meta lacks {error}: index its passages again.") from error


@dataclass(frozen=True, slots=True)
class Version:
    """An index that convqa made. ``k1`` and ``b`` are those that the server scores with, which its settings tell."""

    name: str
    meta: Meta
    shards: int
    replicas: int
    k1: float
    b: float

    @classmethod
    def of(cls, name: str, index: Mapping[str, Any]) -> Version:
        """From what the server says of an index. :raises InputError, StoreDamaged: see :meth:`Meta.of`."""
        meta, settings = Meta.of(meta_of(index), name), index["settings"]["index"]
        similarity = settings["similarity"]["default"]
        shards, replicas = int(settings["number_of_shards"]), int(settings["number_of_replicas"])
        return cls(name, meta, shards, replicas, float(similarity["k1"]), float(similarity["b"]))

    @property
    def mark(self) -> tuple[str, int]:
        """A stamp that changes whenever the collection does."""
        return self.name, 0 if self.meta.vectors is None else self.meta.vectors.commits


def meta_of(index: Mapping[str, Any]) -> Mapping[str, Any]:
    """An index's description of itself; empty for most that others made."""
    return index.get("mappings", {}).get("_meta") or {}


def vectors_of(index: str) -> str:
    """The index of the vectors of one of passages."""
    return f"{index}-vectors"


def document_id(id: str) -> str:
    """The ``_id`` of a passage; "" for an id that no passage has (half of a surrogate pair is no text)."""
    return blake2b(id.encode(), digest_size=16).hexdigest() if is_text(id) else ""


def is_text(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, which no index holds."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def document(analyzer: Analyzer, entry: Entry) -> Item:
    """A passage as the server gets it."""
    passage = entry.passage
    body = {
        "pid": passage.id,
        "tokens": " ".join(analyzer.tokens(passage.title) + analyzer.tokens(passage.text)),
        "meta": [meta_term(name, value) for name, value in passage.meta.items()],
        "passage": orjson.Fragment(entry.content.rstrip()),
        "place": entry.place,
        **parts(entry.digest),
    }
    return Item(document_id(passage.id), passage.id, orjson.dumps(body), entry)


def parts(digest: int) -> dict[str, int]:
    """A digest as fields of 16 bits: sums of them are exact in the server's doubles up to 2**37 documents."""
    return {name: digest >> (_PART * place) & (2**_PART - 1) for place, name in enumerate(PARTS)}


def total(sums: Mapping[str, float]) -> int:
    """The sum of digests, modulo 2**128, from the sums of their parts.

    >>> total(parts(12345678901234567890)) == 12345678901234567890
    True
    """
    return sum(int(sums[name]) << (_PART * place) for place, name in enumerate(PARTS)) % CHECKSUMS


def settings(shards: int, k1: float, b: float) -> dict[str, Any]:
    """An index that is searched only after a refresh that we ask for, and from which deletions can be expunged."""
    return {
        "number_of_shards": shards,
        "number_of_replicas": 0,
        "refresh_interval": "-1",
        "merge.policy.expunge_deletes_allowed": 0,
        "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
        "analysis": {
            "analyzer": {"convqa": {"type": "custom", "tokenizer": "convqa"}},
            # Our tokens have at most 255 characters, which may be twice as many for Lucene.
            "tokenizer": {"convqa": {"type": "whitespace", "max_token_length": 1024}},
        },
    }


def mappings(meta: Meta) -> dict[str, Any]:
    number = {"type": "integer", "index": False}
    return {
        "dynamic": False,
        "_meta": meta.to_json(),
        "_source": {"excludes": ["tokens", "meta", *PARTS]},
        "properties": {
            "pid": {"type": "keyword", "index": False, "doc_values": True},
            "tokens": {"type": "text", "analyzer": "convqa", "index_options": "freqs"},
            "meta": {"type": "keyword", "doc_values": False},
            "passage": {"type": "object", "enabled": False},
            "place": {"type": "integer"},
            **dict.fromkeys(PARTS, number),
        },
    }
