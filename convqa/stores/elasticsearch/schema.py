"""A version of a collection: its index, documents and metadata.

Documents: ``_id`` is a digest of the passage's id (an ``_id`` has at most 512 bytes, QReCC's ids up to 1,401); the id
is the doc value ``pid``. ``tokens`` are those of title and text by convqa's analysis, joined by blanks. The passage is
in ``_source`` only, and so is ``request``, which names the request that made the document. Vectors are in an index of
their own (``INDEX-vectors``), under the same ``_id``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from pydantic import TypeAdapter, ValidationError

from convqa.errors import InputError, StoreDamaged
from convqa.stores.base import Encoder
from convqa.validation import explain

FORMAT = "convqa-index"
VERSION = 4


@dataclass(frozen=True, slots=True)
class VectorMeta:
    """The vectors of a version: their encoder and number, and the number of commits."""

    encoder: Encoder
    count: int = 0
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Meta:
    """The metadata of an index, ``_meta`` of its mapping. ``ready`` is False until all passages are in it."""

    language: str
    analyzer: str
    count: int = 0
    checksum: str = "0" * 32
    ready: bool = False
    vectors: VectorMeta | None = None

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


_META = TypeAdapter(Meta)


@dataclass(frozen=True, slots=True)
class Version:
    """An index that convqa made. ``k1`` and ``b`` are those of its settings, by which the server scores."""

    name: str
    meta: Meta
    shards: int
    replicas: int
    k1: float
    b: float

    @classmethod
    def of(cls, name: str, index: Mapping[str, Any]) -> Version:
        """Read the server's record of an index that convqa made.

        :raises InputError: if another version of convqa made it.
        :raises StoreDamaged: if a field of the metadata is malformed.
        """
        stored = meta_of(index)
        if stored.get("version") != VERSION:
            raise InputError(
                f"index {name} has format {stored.get('version')!r}; this version of convqa reads {VERSION}. Index the "
                "passages again with --replace, or use the convqa that made it."
            )
        try:
            meta = _META.validate_python(stored)
        except ValidationError as error:
            field, problem = explain(error)[0]
            raise StoreDamaged(f"index {name}: _meta: {field}: {problem}. Index its passages again.") from error
        settings = index["settings"]["index"]
        similarity = settings["similarity"]["default"]
        return cls(
            name,
            meta,
            shards=int(settings["number_of_shards"]),
            replicas=int(settings["number_of_replicas"]),
            k1=float(similarity["k1"]),
            b=float(similarity["b"]),
        )

    @property
    def stamp(self) -> tuple[str, int]:
        """A value that changes with the collection."""
        return self.name, 0 if self.meta.vectors is None else self.meta.vectors.commits


def meta_of(index: Mapping[str, Any]) -> Mapping[str, Any]:
    return index.get("mappings", {}).get("_meta") or {}


def vectors_of(index: str) -> str:
    return f"{index}-vectors"


def document_id(id: str) -> str:
    """Return the ``_id`` of a passage."""
    return blake2b(id.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def index_settings(shards: int, k1: float, b: float) -> dict[str, Any]:
    """Return settings of an index that is refreshed on request only, and whose deleted documents can be expunged."""
    return {
        "number_of_shards": shards,
        "number_of_replicas": 0,
        "refresh_interval": "-1",
        "merge.policy.expunge_deletes_allowed": 0,
        "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
        "analysis": {
            "analyzer": {"convqa": {"type": "custom", "tokenizer": "convqa"}},
            # Tokens have at most 255 characters, up to 510 for Lucene.
            "tokenizer": {"convqa": {"type": "whitespace", "max_token_length": 1024}},
        },
    }


PASSAGE_ID = {"type": "keyword", "index": False, "doc_values": True}
META_TERMS = {"type": "keyword", "doc_values": False}


def index_mappings(meta: Meta) -> dict[str, Any]:
    return {
        "dynamic": False,
        "_meta": meta.to_json(),
        "_source": {"excludes": ["tokens", "meta"]},
        "properties": {
            "pid": PASSAGE_ID,
            "tokens": {"type": "text", "analyzer": "convqa", "index_options": "freqs"},
            "meta": META_TERMS,
            "passage": {"type": "object", "enabled": False},
        },
    }
