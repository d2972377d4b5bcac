"""One protocol for every place where passages live, and the values it speaks.

How every store scores (docs/data-model.md): a query becomes one map token -> summed weight
(:func:`convqa.text.analysis.weigh`); score = sum of weight * idf * tf / (tf + k1 (1 - b + b len/avg)), with Lucene's
idf = ln(1 + (N - df + .5) / (df + .5)) and without the old factor (k1 + 1). N and avg are of the passages in which the
field has a token, and lengths are rounded, as in Lucene.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from typing import Literal, Protocol, runtime_checkable

from convqa.domain import MetaValue, Passage, Query, Ranking
from convqa.errors import InputError

Stopwords = Literal["default", "long"]


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
    with its own df and lengths. ``filter``: a meta field equals one of the values; all fields must match.
    """

    k1: float | None = None
    b: float | None = None
    title_weight: float | None = None
    stopwords: Stopwords = "default"
    prf: Prf | None = None
    filter: Mapping[str, tuple[MetaValue, ...]] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Info:
    """What a store says about itself. ``checksum`` names the content, whatever the order of indexing.

    ``capabilities``: the names of the search parameters that it honours, and ``write`` where it can grow. ``k1`` and
    ``b``: what the index was made with, where that is fixed; None where any value can be asked for at search time.
    """

    engine: str
    count: int
    language: str
    analyzer: str
    fields: tuple[str, ...]
    checksum: str
    encoder: str | None = None
    capabilities: frozenset[str] = frozenset()
    k1: float | None = None
    b: float | None = None


def refuse_unknown(params: SearchParams, info: Info, store: str) -> None:
    """Raise for the first parameter that is asked for and that a store cannot honour.

    A k1 or b that the index has anyway may be asked for.

    :param store: its name for the message.
    :raises InputError: naming the parameter.
    """
    default = SearchParams()
    fixed = {"k1": info.k1, "b": info.b}
    for parameter in fields(params):
        name, value = parameter.name, getattr(params, parameter.name)
        if value == getattr(default, name) or name in info.capabilities:
            continue
        made_with = fixed.get(name)
        if made_with is None:
            known = ", ".join(sorted(info.capabilities - {"write"})) or "no parameter"
            raise InputError(f"{store} cannot search with {name}={value!r}; it can with {known}.")
        if not math.isclose(value, made_with, rel_tol=1e-6):
            raise InputError(f"{store} was made with {name}={made_with!r} and cannot search with {name}={value!r}.")


@runtime_checkable
class Store(Protocol):
    """A collection that can be searched.

    :raises StoreUnavailable: from any method, where the engine does not answer now.
    :raises StoreDamaged: from any method, where it cannot be read as it was written.
    """

    def info(self) -> Info: ...

    def check(self, params: SearchParams) -> None:
        """Raise an ``InputError`` for what this store cannot honour; ``search`` does so too."""
        ...

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """Rank the best ``k`` passages for each query; passages are attached to the first ``texts`` hits only."""
        ...

    def fetch(self, ids: Sequence[str]) -> list[Passage | None]: ...

    def scan(self) -> Iterator[Passage]: ...

    def close(self) -> None:
        """Let go of files and connections; what was not committed is dropped. The next ``open_store`` opens anew."""
        ...

    @property
    def closed(self) -> bool: ...


@runtime_checkable
class WritableStore(Store, Protocol):
    """A collection that can grow and shrink. Nothing is visible to readers before ``commit``."""

    def add(self, passages: Iterable[Passage]) -> None: ...

    def delete(self, ids: Sequence[str]) -> None: ...

    def commit(self) -> None: ...


class Engine(Protocol):
    """What the module of an engine offers, all by URL."""

    def key(self, url: str) -> str:
        """The same string for every URL of the same collection, as far as the URL tells."""
        ...

    def identity(self, url: str) -> Hashable | None:
        """What changes whenever the collection does; None where there is none. Asked before every search: cheap."""
        ...

    def open_collection(self, url: str) -> Store: ...

    def create(
        self, url: str, language: str, replace: bool = False, settings: Mapping[str, object] | None = None
    ) -> AbstractContextManager[WritableStore]: ...
