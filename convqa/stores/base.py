"""One protocol for every place where passages live, and the values it speaks.

How every store scores (docs/data-model.md): a query becomes one map token -> summed weight
(:func:`convqa.text.analysis.weigh`); score = sum of weight * idf * tf / (tf + k1 (1 - b + b len/avg)), with Lucene's
idf = ln(1 + (N - df + .5) / (df + .5)) and without the old factor (k1 + 1). N and avg are of the passages in which the
field has a token, and lengths are rounded, as in Lucene.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def refuse_unknown(params: SearchParams, capabilities: frozenset[str], store: str) -> None:
    """Raise for the first parameter that is asked for and that a store cannot honour.

    :raises InputError: naming the parameter.
    """
    default = SearchParams()
    for parameter in fields(params):
        name, value = parameter.name, getattr(params, parameter.name)
        if value != getattr(default, name) and name not in capabilities:
            raise InputError(
                f"{store} cannot search with {name}={value!r}; it can with {', '.join(sorted(capabilities))}"
            )


@dataclass(frozen=True, slots=True)
class Info:
    """What a store says about itself. ``checksum`` names the content, whatever the order of indexing.

    ``capabilities``: the names of the search parameters that it honours, and ``write`` where it can grow.
    """

    engine: str
    count: int
    language: str
    analyzer: str
    fields: tuple[str, ...]
    checksum: str
    encoder: str | None = None
    capabilities: frozenset[str] = frozenset()


@runtime_checkable
class Store(Protocol):
    """A collection that can be searched."""

    def info(self) -> Info: ...

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """Rank the best ``k`` passages for each query; passages are attached to the first ``texts`` hits only."""
        ...

    def fetch(self, ids: Sequence[str]) -> list[Passage | None]: ...

    def scan(self) -> Iterator[Passage]: ...

    def close(self) -> None: ...


@runtime_checkable
class WritableStore(Store, Protocol):
    """A collection that can grow and shrink. Nothing is visible to readers before ``commit``."""

    def add(self, passages: Iterable[Passage]) -> None: ...

    def delete(self, ids: Sequence[str]) -> None: ...

    def commit(self) -> None: ...
