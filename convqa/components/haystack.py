"""The base of stations that wrap a component of Haystack, with passages as documents.

A component of Haystack takes one question at a time, as plain text. It runs once for every turn, with ``concurrency``
concurrent turns, which is faster if it waits for a server. The parameter ``component`` describes it as any pipeline of
Haystack does. Haystack's loader creates it, from the modules that a pipeline may name::

    retriever:
      type: haystack
      init_parameters:
        top_k: 10
        component:
          type: haystack.components.retrievers.in_memory.InMemoryBM25Retriever
          init_parameters: {document_store: {type: ..., init_parameters: {...}}}

A component with other inputs, such as an embedding, can be combined with its embedder in a ``SuperComponent``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Annotated, Any, ClassVar, TypeVar

from haystack import Document
from pydantic import Field

from convqa.components.checks import path_of
from convqa.components.members import describe, make_component, member
from convqa.components.rankings import RRF_K
from convqa.domain import Hit, MetaValue, Passage, Ranking
from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.files import replace_surrogates
from convqa.validation import refuse_secrets, shorten

T = TypeVar("T")

_OUTAGES = frozenset({"ConnectionError", "TimeoutError", "TransportError", "APIConnectionError"})
"""Names of connection errors of Python, requests, httpx, Elasticsearch's and OpenAI's clients."""


@member
class Wrapper:
    """Mixin of a station with a component of Haystack, ``wrapped``.

    The component must have the inputs ``takes`` and the output ``gives``. Its other mandatory inputs must be among
    ``may_take``.

    :param component: its description.
    :param concurrency: number of concurrent calls; 1 for a component that is not thread-safe.
    """

    component: Any
    concurrency: Annotated[int, Field(ge=1, le=64)] = 1
    takes: ClassVar[Sequence[str]]
    may_take: ClassVar[Sequence[str]] = ()
    gives: ClassVar[str]
    items: ClassVar[type] = object
    """The type of the items in the output list."""

    def __post_init__(self) -> None:
        """:raises InputError: for a component with other sockets, and for a secret in plain text."""
        self.wrapped = make_component(self.component, "component")
        name = type(self.wrapped).__name__
        inputs = self.wrapped.__haystack_input__._sockets_dict
        outputs = self.wrapped.__haystack_output__._sockets_dict
        mandatory = {socket for socket, details in inputs.items() if details.is_mandatory}
        known = (*self.takes, *self.may_take)
        if not set(self.takes) <= set(inputs) or not mandatory <= set(known) or self.gives not in outputs:
            actual = f"takes {', '.join(inputs) or 'nothing'} and returns {', '.join(outputs) or 'nothing'}"
            raise InputError(
                f"component: {name} {actual}; expected one that takes {' and '.join(self.takes)}, requires nothing but "
                f"{' and '.join(known)}, and returns {self.gives}."
            )
        self.component = describe(self.wrapped)
        refuse_secrets(self.component["init_parameters"], f"component {name}")
        self._inputs = frozenset(inputs)

    def warm_up(self) -> None:
        """Warm up the component.

        :raises InputError: if it needs a key from an environment variable that is not set.
        :raises RunError: if it fails.
        """
        try:
            getattr(self.wrapped, "warm_up", lambda: None)()
        except Exception as error:
            name = type(self.wrapped).__name__
            if isinstance(error, ValueError) and "environment variables are set" in str(error):
                raise InputError(f"{name} cannot be warmed up: {error}. Set one of them to its key.") from error
            raise RunError(f"{name} cannot be warmed up: {type(error).__name__}: {error}") from error

    def _each_turn(self, work: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
        """Apply ``work`` to all rows, with ``concurrency`` threads. Results keep the order of the rows."""
        if self.concurrency == 1:
            return [work(*row) for row in zip(*columns, strict=True)]
        with ThreadPoolExecutor(self.concurrency, "haystack") as pool:
            return list(pool.map(work, *columns))

    def _ask(self, **sockets: Any) -> list[Any]:
        """Run the component once, with the given sockets that it has.

        :raises ValueError: if its output differs from its declaration.
        :raises StoreUnavailable: if its server does not answer.
        """
        try:
            result = self.wrapped.run(**{name: value for name, value in sockets.items() if name in self._inputs})
        except Exception as error:
            if _OUTAGES.isdisjoint(base.__name__ for base in type(error).__mro__):
                raise
            name = type(self.wrapped).__name__
            raise StoreUnavailable(f"{name} does not reach its server: {type(error).__name__}: {error}") from error
        items = result.get(self.gives) if isinstance(result, Mapping) else None
        if isinstance(items, list) and all(isinstance(item, self.items) for item in items):
            return items
        raise ValueError(f"{path_of(type(self.wrapped), 'run')} returned no list of {self.gives}: {shorten(result)}")


def to_document(hit: Hit) -> Document:
    """Return a hit with its passage as a document, with title and URL in ``meta``."""
    passage = hit.passage
    assert passage is not None
    names = {name: value for name, value in (("title", passage.title), ("url", passage.url)) if value}
    return Document(id=passage.id, content=passage.text, meta={**passage.meta, **names}, score=hit.score)


def to_passage(document: Document) -> Passage | None:
    """Return a document as a passage, or None without text. Values of ``meta`` that are not scalars are omitted."""
    if document.content is None:
        return None
    meta = {name: value for name, value in document.meta.items() if _is_plain(value)}
    title, url = (str(meta.pop(name, "")) for name in ("title", "url"))
    return Passage(document.id, *replace_surrogates([document.content, title, url, meta]))


def ranked(hits: Iterable[Hit], scored: bool) -> Ranking:
    """Return the ranking of a component's hits, in its order and without duplicate ids.

    Scores are kept if all hits are ``scored`` and the scores descend. Otherwise rank r scores 1 / (60 + r).

    :raises NotFinite: for a score that is NaN or infinite.
    """
    by_id: dict[str, Hit] = {}
    for hit in hits:
        by_id.setdefault(hit.id, hit)
    unique = list(by_id.values())
    if not scored or any(above.score < below.score for above, below in pairwise(unique)):
        unique = [Hit(hit.id, 1 / (RRF_K + rank), hit.passage) for rank, hit in enumerate(unique, 1)]
    return Ranking.of(unique)


def _is_plain(value: object) -> bool:
    return isinstance(value, MetaValue) and not (isinstance(value, float) and not math.isfinite(value))
