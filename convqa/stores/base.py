"""One protocol for every place where passages live, and the values it speaks.

How every store scores (docs/reference/data-model.md): a query becomes one map token -> summed weight
(:func:`convqa.text.analysis.weigh`); score = sum of weight * idf * tf / (tf + k1 (1 - b + b len/avg)), with Lucene's
idf = ln(1 + (N - df + .5) / (df + .5)) and without the old factor (k1 + 1). N and avg are of the passages in which the
field has a token, and lengths are rounded, as in Lucene.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convqa.domain import MetaValue, Passage, Query, Ranking
from convqa.errors import InputError
from convqa.stores.address import Address

Matrix = NDArray[np.floating[Any]]
"""A vector a row."""
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Ids = Sequence[str]
Stopwords = Literal["default", "long"]
Filter = Mapping[str, tuple[MetaValue, ...]]
"""A meta field equals one of the values; all fields must match. An empty one lets every passage through."""


@dataclass(frozen=True, slots=True)
class Prf:
    """Pseudo-relevance feedback (RM3): expand with ``terms`` of the top ``passages``, interpolated by ``weight``."""

    passages: int = 10
    terms: int = 10
    weight: float = 0.5


@dataclass(frozen=True, slots=True)
class SearchParams:
    """How to score. ``None`` = the store's own setting. What a store cannot honour is an ``InputError``.

    ``title_weight`` None: title and text are one token sequence; a number w >= 0: BM25(text) + w BM25(title), each
    with its own df and lengths. ``filter``: which passages are ranked; it changes no score.
    """

    k1: float | None = None
    b: float | None = None
    title_weight: float | None = None
    stopwords: Stopwords = "default"
    prf: Prf | None = None
    filter: Filter | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Encoder:
    """Which model made vectors: vectors of two encoders cannot be compared.

    ``checksum`` names its weights, ``dimension`` the length of its vectors. Vectors are compared by inner product, so
    an encoder for cosine similarity makes them of length 1. The same weights under another name (a folder moved) are
    the same encoder. A checksum of "" is that of vectors which others made: what made them is told, not known.
    ``sparse``: the components are weights of the tokens of a vocabulary, not negative and most of them 0.
    """

    name: str = field(compare=False)
    checksum: str
    dimension: int
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """How a store keeps vectors, fixed by the first that are added.

    ``exact`` compares with every vector; ``hnsw``, which a folder lacks, walks a graph (faster on large collections,
    and misses some); ``auto`` is exact in a folder, a graph in Elasticsearch.
    """

    precision: Literal["float32", "float16", "int8", "bit"] = "float32"
    index: Literal["auto", "exact", "hnsw"] = "auto"


@dataclass(frozen=True, slots=True)
class Info:
    """A store's description of itself. ``checksum`` names the content, whatever the order of indexing.

    ``capabilities``: the names of the search parameters that it honours, ``write`` where it can grow, ``vectors`` where
    it keeps vectors and ``sparse`` where these may be token weights. ``encoder`` made its vectors, of which there are
    ``vectors``, kept by ``vector_options``.
    ``k1`` and ``b``: what the index was made with, where that is fixed; None where any value can be asked for at
    search time. ``source``: the file or input that its passages came from, where that was kept.
    """

    engine: str
    count: int
    language: str
    analyzer: str
    fields: tuple[str, ...]
    checksum: str
    encoder: Encoder | None = None
    vectors: int = 0
    capabilities: frozenset[str] = frozenset()
    k1: float | None = None
    b: float | None = None
    vector_options: VectorOptions | None = None
    source: str = ""


LARGEST_WEIGHT = 1e30
"""All weights of a query stay below this, so that they and the scores add up exactly."""

NO_PARAMETERS = frozenset({"write", "vectors", "sparse"})
"""Capabilities that are no search parameters."""


def refuse_encoder(encoder: Encoder, info: Info, store: str) -> None:
    """Raise unless vectors of this encoder can be compared with those of a store.

    :raises InputError: naming both encoders, or for a store without vectors.
    """
    if "vectors" not in info.capabilities:
        raise InputError(
            f"{store} has no vectors, and convqa, which only reads it, cannot add any. Use the retriever hybrid, "
            "which makes those that it needs for each turn, or bm25; or index the passages with convqa index "
            "--vectors. Vectors of others in Elasticsearch are named in a collection's file (vector, encoder)."
        )
    if info.encoder is None:
        raise InputError(
            f"{store} has no vectors; add them with convqa index --collection URL --vectors {encoder.name}, or use the "
            "retriever hybrid, which makes those that it needs for each turn, or bm25."
        )
    known = info.encoder if info.encoder.checksum else replace(info.encoder, checksum=encoder.checksum)
    if known != encoder:
        raise InputError(
            f"{store} has vectors of {label(info.encoder)}; found a query of {label(encoder)}. Use the encoder that "
            "the collection was made with (in a pipeline: retriever.encoder), or make its vectors anew."
        )


def label(encoder: Encoder) -> str:
    """An encoder as messages name it."""
    checksum = f", checksum {encoder.checksum[:12]}" if encoder.checksum else ""
    return f"{encoder.name!r} ({encoder.dimension} dimensions{checksum})"


def refuse_unknown(params: SearchParams, info: Info, store: str) -> None:
    """Raise for the first parameter that is asked for and that a store cannot honour.

    A k1 or b that the index has anyway may be asked for.

    :param store: its name for the message.
    :raises InputError: naming the parameter; for k1 or b, which every pipeline gives, it says how to search without.
    """
    default = SearchParams()
    fixed = {"k1": info.k1, "b": info.b}
    for parameter in fields(params):
        name, value = parameter.name, getattr(params, parameter.name)
        if value == getattr(default, name) or name in info.capabilities:
            continue
        if name not in fixed:
            known = ", ".join(sorted(info.capabilities - NO_PARAMETERS)) or "no parameter"
            raise InputError(f"{store} cannot search with {name}={value!r}; it can with {known}.")
        made_with = fixed[name]
        if made_with is None or not math.isclose(value, made_with, rel_tol=1e-6):
            made = "is not scored by BM25" if made_with is None else f"was made with k1={info.k1!r} and b={info.b!r}"
            other = ", or change the index: convqa collections set URL --k1 K1 --b B --yes"
            raise InputError(
                f"{store} {made} and cannot search with {name}={value!r}. Search with its own scoring: --set "
                f"retriever.k1=null --set retriever.b=null{other if 'write' in info.capabilities else ''}."
            )


def check_weights(weights: Iterable[float], query: Query) -> None:
    """Raise unless Lucene takes these weights of terms: as boosts, 32-bit floats that are not negative.

    :raises ValueError: for a weight that is no finite number, negative, or too large.
    """
    given = list(weights)
    if not sum(map(abs, given)) < LARGEST_WEIGHT:
        raise ValueError(f"the weights of a query's terms must be finite and below {LARGEST_WEIGHT:g}: {query}")
    if any(weight < 0 for weight in given):
        raise ValueError(f"Lucene takes no negative weights of terms: {query}")


@runtime_checkable
class Store(Protocol):
    """A collection that can be searched.

    :raises StoreUnavailable: from any method, where the engine does not answer now.
    :raises StoreDamaged: from any method, where it cannot be read as it was written.
    """

    def info(self) -> Info: ...

    def check(self, params: SearchParams) -> None:
        """Raise an ``InputError`` for what this store cannot honour; ``search`` does so too."""

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """Rank the best ``k`` passages for each query; passages are attached to the first ``texts`` hits only."""

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 20, filter: Filter | None = None
    ) -> list[Ranking]:
        """Rank the best ``k`` passages by inner product for each row; shape (queries, dimension).

        :param filter: as in :class:`SearchParams`: only these passages are ranked.
        :raises InputError: if the store has no vectors, or those of another encoder.
        """

    def fetch(self, ids: Ids) -> list[Passage | None]: ...

    def scan(self) -> Iterator[Passage]: ...

    def close(self) -> None:
        """Let go of files and connections; what was not committed is dropped. The next ``open_store`` opens anew."""

    @property
    def closed(self) -> bool: ...


class Transaction(Protocol):
    """A writer of a store. Readers see nothing of it before ``commit``, and ``close`` drops what is not committed."""

    def add(self, passages: Iterable[Passage]) -> None: ...

    def delete(self, ids: Ids) -> None: ...

    def add_vectors(self, ids: Ids, matrix: Matrix, encoder: Encoder, options: VectorOptions | None = None) -> None:
        """Give passages that are in the collection their vectors; shape (ids, dimension). One again replaces its own.

        :param options: of the first vectors (None: the defaults); later ones may leave them out.
        :raises InputError: for an id that is not there, another encoder or other options than the first.
        """

    def commit(self) -> object: ...

    def close(self) -> None: ...


@runtime_checkable
class WritableStore(Store, Transaction, Protocol):
    """A collection that can grow and shrink."""

    def vectors(self, ids: Ids) -> list[Floats | None]:
        """The committed vectors of passages as they are kept, of shape (dimension,); None where there is none."""

    def without_vectors(self) -> Iterator[Passage]:
        """The committed passages that have no vector yet: where a load that was cut off goes on."""


class Engine(Protocol):
    """The functions of an engine's module, all by address. One that only reads lacks create, delete and change."""

    def key(self, address: Address) -> str:
        """The same string for every address of the same collection, as far as the address tells."""

    def identity(self, address: Address) -> Hashable | None:
        """A stamp that changes whenever the collection does; None without one. Cheap: asked at every opening."""

    def open_collection(self, address: Address) -> Store: ...

    def create(
        self, address: Address, language: str, replace: bool = False, settings: Mapping[str, object] | None = None
    ) -> AbstractContextManager[WritableStore]: ...

    def delete(self, address: Address) -> None:
        """Remove a collection for good."""

    def change(self, address: Address, settings: Mapping[str, object]) -> None:
        """Change settings of a collection that exists.

        :raises InputError: for one that the engine cannot change.
        """

    def find(self, address: Address) -> list[str]:
        """The URLs of the collections in a place: a folder, or a server."""
