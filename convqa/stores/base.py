"""The protocol of stores, and its values.

All stores score alike (docs/reference/data-model.md): a query becomes a map token -> summed weight
(:func:`convqa.text.analysis.weigh`); score = sum of weight * idf * tf / (tf + k1 (1 - b + b len/avg)), with Lucene's
idf = ln(1 + (N - df + .5) / (df + .5)) and without the factor (k1 + 1). N and avg count passages with a token in the
field, and lengths are rounded, as in Lucene.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convqa.domain import MetaValue, Passage, Query, Ranking
from convqa.errors import InputError
from convqa.stores.address import Address

Matrix = NDArray[np.floating[Any]]
"""One vector per row."""
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Ids = Sequence[str]
Stopwords = Literal["default", "long"]
Filter = Mapping[str, tuple[MetaValue, ...]]
"""Each meta field must equal one of its values. An empty filter accepts every passage."""


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Scoring parameters. ``k1`` and ``b`` default to the store's. An unsupported one raises ``InputError``.

    ``title_weight`` None: title and text are one token sequence; a number w >= 0: BM25(text) + w BM25(title), each
    with its own df and lengths. ``filter`` limits the passages that are ranked and changes no score.
    """

    k1: float | None = None
    b: float | None = None
    title_weight: float | None = None
    stopwords: Stopwords = "default"
    filter: Filter | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Encoder:
    """The model that made vectors. Vectors of different encoders cannot be compared.

    ``checksum`` identifies the weights whatever the ``name``; "" for vectors that convqa did not make. Vectors are
    compared by inner product, so an encoder for cosine similarity normalizes them.
    """

    name: str = field(compare=False)
    checksum: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Info:
    """Description of a store. ``checksum`` identifies the content, whatever the order of indexing.

    ``capabilities``: the search parameters that it supports, and ``write`` and ``vectors``. ``vectors`` counts the
    vectors that ``encoder`` made. ``k1`` and ``b`` are None where they can be chosen at search time. ``source``: the
    file or input of the passages, if recorded.
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
    source: str = ""


LARGEST_WEIGHT = 1e30
"""Limit of the sum of a query's weights, so that weights and scores add up exactly."""


def refuse_encoder(encoder: Encoder, info: Info, store: str) -> None:
    """:raises InputError: if a store has no vectors, or vectors of another encoder."""
    if info.encoder is None:
        raise InputError(
            f"{store} has no vectors. Use the retriever hybrid, which encodes passages on demand, or bm25; or add them "
            f"with convqa index --collection URL --vectors {encoder.name}."
        )
    if info.encoder != encoder:
        raise InputError(
            f"{store} has vectors of {label(info.encoder)}, got a query of {label(encoder)}. Use the collection's "
            "encoder (in a pipeline: retriever.encoder), or encode its passages again."
        )


def label(encoder: Encoder) -> str:
    """Return an encoder's name for messages."""
    checksum = f", checksum {encoder.checksum[:12]}" if encoder.checksum else ""
    return f"{encoder.name!r} ({encoder.dimension} dimensions{checksum})"


def refuse_unknown(params: SearchParams, info: Info, store: str) -> None:
    """:raises InputError: for the first parameter that a store, named ``store`` in messages, does not support.

    A fixed k1 or b may be given with the value that it has.
    """
    default = SearchParams()
    fixed = {"k1": info.k1, "b": info.b}
    for parameter in fields(params):
        name, value = parameter.name, getattr(params, parameter.name)
        if value == getattr(default, name) or name in info.capabilities:
            continue
        indexed = fixed.get(name)
        if indexed is not None and math.isclose(value, indexed, rel_tol=1e-6):
            continue
        known = ", ".join(sorted(info.capabilities - {"write", "vectors"})) or "no parameter"
        scoring = ""
        if name in fixed:
            scoring = (
                f" Its index has k1={info.k1!r} and b={info.b!r}; search with these: --set retriever.k1=null "
                "--set retriever.b=null."
            )
        raise InputError(f"{store} cannot search with {name}={value!r}; it supports {known}.{scoring}")


def check_weights(weights: Iterable[float], query: Query) -> None:
    """:raises ValueError: for a term weight that is not finite, too large, or negative, which Lucene refuses too."""
    weights = list(weights)
    is_positive = all(weight >= 0 for weight in weights)
    if not is_positive or sum(weights) >= LARGEST_WEIGHT:
        raise ValueError(
            f"the weights of a query's terms must be finite, not negative, and below {LARGEST_WEIGHT:g}: {query}"
        )


@runtime_checkable
class Store(Protocol):
    """A searchable collection.

    :raises StoreUnavailable: from any method, if the engine does not respond.
    :raises StoreDamaged: from any method, if stored data is corrupt.
    """

    def info(self) -> Info: ...

    def check(self, params: SearchParams) -> None:
        """Raise ``InputError`` for an unsupported parameter, as ``search`` does."""

    def search(
        self,
        queries: Sequence[Query],
        k: int,
        params: SearchParams,
        texts: int = 20,
    ) -> list[Ranking]:
        """Rank the best ``k`` passages for each query; attach passages to the first ``texts`` hits only."""

    def search_vectors(
        self, matrix: Matrix, k: int, encoder: Encoder, texts: int = 20, filter: Filter | None = None
    ) -> list[Ranking]:
        """Rank the best ``k`` passages by inner product for each row of shape (queries, dimension).

        :param filter: see :class:`SearchParams`.
        :raises InputError: if the store has no vectors, or vectors of another encoder.
        """

    def fetch(self, ids: Ids) -> list[Passage | None]: ...

    def scan(self) -> Iterator[Passage]: ...

    def close(self) -> None:
        """Release files and connections and drop uncommitted changes. ``open_store`` then opens a new store."""

    @property
    def closed(self) -> bool: ...


class Transaction(Protocol):
    """Changes to a store that readers see after ``commit``; ``close`` drops uncommitted ones."""

    def add(self, passages: Iterable[Passage]) -> None: ...

    def delete(self, ids: Ids) -> None: ...

    def add_vectors(
        self,
        ids: Ids,
        matrix: Matrix,
        encoder: Encoder,
    ) -> None:
        """Set the vectors, of shape (ids, dimension), of passages in the collection.

        :raises InputError: for an unknown id, or an encoder that differs from the first.
        """

    def commit(self) -> object: ...

    def close(self) -> None: ...


@runtime_checkable
class WritableStore(Store, Transaction, Protocol):
    """A collection whose passages can be added and deleted."""

    def vectors(self, ids: Ids) -> list[Floats | None]:
        """Return the committed vectors of passages, of shape (dimension,); None if missing."""

    def without_vectors(self) -> Iterator[Passage]:
        """Iterate over the committed passages without a vector, so that an interrupted load can continue."""


class Writing:
    """Writing methods of a store. The first change begins a transaction, which ``commit`` ends.

    An add, delete or commit that raises drops all changes since the last commit.
    """

    _writer: Transaction | None = None

    def _begin(self) -> Transaction:
        raise NotImplementedError

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; skip exact copies of stored ones.

        Memory grows only with the numbers of ids and distinct tokens.

        :raises InputError: for an id whose stored content differs.
        """
        with self._transaction() as writer:
            writer.add(passages)

    def delete(self, ids: Ids) -> None:
        with self._transaction() as writer:
            writer.delete(ids)

    def add_vectors(
        self,
        ids: Ids,
        matrix: Matrix,
        encoder: Encoder,
    ) -> None:
        """See :class:`convqa.stores.base.WritableStore`.

        :raises InputError: also for vectors of the wrong shape.
        """
        with self._transaction() as writer:
            writer.add_vectors(ids, matrix, encoder)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        writer = self._writer = self._writer or self._begin()
        try:
            yield writer
        except BaseException:
            self._writer = None
            writer.close()
            raise

    def _drop(self) -> None:
        """Drop uncommitted changes."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class Engine(Protocol):
    """Functions of an engine's module. A read-only engine lacks create and delete.

    ``check(address) -> list[str]`` is optional. It lists the leftovers of killed loads beside the collection.
    It raises ``StoreDamaged`` if a file is not as it was written.
    """

    def identity(self, address: Address) -> Hashable | None:
        """Return a cheap stamp that changes with the collection, or None if the collection does not exist."""

    def open_collection(self, address: Address) -> Store: ...

    def create(
        self, address: Address, language: str, replace: bool = False, settings: Mapping[str, object] | None = None
    ) -> AbstractContextManager[WritableStore]: ...

    def delete(self, address: Address) -> None:
        """Delete a collection permanently."""

    def find(self, address: Address) -> list[str]:
        """Return the URLs of the collections in a folder or on a server."""
