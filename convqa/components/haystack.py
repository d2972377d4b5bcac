"""The base of the stations that wrap a component of Haystack: it builds and asks it, with passages as documents.

A component of Haystack takes one question at a time, as plain text; it is run once for every turn, and for
``concurrency`` turns at the same time, which pays where it waits for a server. In YAML it stands
under ``component``, written as in any pipeline of Haystack, and Haystack's loader makes it, from the modules that a
pipeline may name and no others::

    retriever:
      type: haystack
      init_parameters:
        top_k: 10
        component:
          type: haystack.components.retrievers.in_memory.InMemoryBM25Retriever
          init_parameters: {document_store: {type: ..., init_parameters: {...}}}

A component that takes something else (an embedding, say) can be put behind its embedder in a ``SuperComponent``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Annotated, Any, ClassVar, TypeVar

from haystack import Document
from pydantic import Field

from convqa.components.members import describe, make_component
from convqa.components.rankings import RRF_K
from convqa.domain import Hit, MetaValue, Passage, Ranking
from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.files import mend
from convqa.validation import refuse_secrets, shorten

T = TypeVar("T")

Concurrency = Annotated[int, Field(ge=1, le=64)]
"""Calls of a component at the same time."""

_OUTAGES = frozenset({"ConnectionError", "TimeoutError", "TransportError", "APIConnectionError"})
"""Names of the errors of clients whose server does not answer (Python, requests, httpx, Elastic's, OpenAI's): a
component may bring any client."""


class Wrapper:
    """A station's other half: the component is ``wrapped``, and the parameter ``component`` becomes its description.

    Its sockets have to fit: it ``takes`` some, needs none but these and those that it ``may_take``, and ``gives`` one.
    """

    component: Any
    concurrency: int
    wrapped: Any
    takes: ClassVar[Sequence[str]]
    may_take: ClassVar[Sequence[str]] = ()
    gives: ClassVar[str]
    items: ClassVar[type] = object
    """The kind of the items in the list that it gives."""

    def __post_init__(self) -> None:
        """:raises InputError: for a component that does not fit, and for a secret in plain text."""
        self.wrapped = make_component(self.component, "component")
        name = type(self.wrapped).__name__
        inputs = self.wrapped.__haystack_input__._sockets_dict
        outputs = self.wrapped.__haystack_output__._sockets_dict
        needed = {socket for socket, details in inputs.items() if details.is_mandatory}
        able = (*self.takes, *self.may_take)
        if not set(self.takes) <= set(inputs) or not needed <= set(able) or self.gives not in outputs:
            found = f"takes {', '.join(inputs) or 'nothing'} and gives {', '.join(outputs) or 'nothing'}"
            raise InputError(
                f"component: {name} {found}; wanted: one that takes {' and '.join(self.takes)}, needs nothing but "
                f"{' and '.join(able)}, and gives {self.gives}."
            )
        self.component = describe(self.wrapped)
        refuse_secrets(self.component["init_parameters"], f"component {name}")
        self._inputs = frozenset(inputs)

    def warm_up(self) -> None:
        """Pass on to the component; called before every run, as in any pipeline of Haystack.

        :raises InputError: if it wants a key from an environment variable that is not set.
        :raises RunError: if it fails.
        """
        try:
            getattr(self.wrapped, "warm_up", lambda: None)()
        except Exception as error:
            name = type(self.wrapped).__name__
            if isinstance(error, ValueError) and "environment variables are set" in str(error):
                raise InputError(f"{name} cannot be made ready: {error}. Set one of them to its key.") from error
            raise RunError(f"{name} cannot be made ready: {type(error).__name__}: {error}") from error

    def _each_turn(self, work: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
        """The results of ``work`` for all rows in their order, ``concurrency`` of them made at the same time."""
        if self.concurrency == 1:
            return [work(*row) for row in zip(*columns, strict=True)]
        with ThreadPoolExecutor(self.concurrency, "haystack") as pool:
            results = [pool.submit(work, *row) for row in zip(*columns, strict=True)]
            try:
                return [result.result() for result in results]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _ask(self, **sockets: Any) -> list[Any]:
        """One run of the component, with those of the sockets that it has.

        :raises ValueError: if it does not give what it declares.
        :raises StoreUnavailable: if the server behind it does not answer.
        """
        try:
            made = self.wrapped.run(**{name: value for name, value in sockets.items() if name in self._inputs})
        except Exception as error:
            if _OUTAGES.isdisjoint(base.__name__ for base in type(error).__mro__):
                raise
            name = type(self.wrapped).__name__
            raise StoreUnavailable(f"{name} does not reach its server: {type(error).__name__}: {error}") from error
        found = made.get(self.gives) if isinstance(made, Mapping) else None
        if isinstance(found, list) and all(isinstance(item, self.items) for item in found):
            return found
        cls = type(self.wrapped)
        raise ValueError(f"{cls.__module__}.{cls.__qualname__}.run gave no list of {self.gives}: {shorten(made)}")


def to_document(hit: Hit) -> Document:
    """A hit with its passage as a document; title and url are fields of its ``meta``, where it has them."""
    passage = hit.passage
    assert passage is not None
    named = {name: value for name, value in (("title", passage.title), ("url", passage.url)) if value}
    return Document(id=passage.id, content=passage.text, meta={**passage.meta, **named}, score=hit.score)


def to_passage(document: Document) -> Passage | None:
    """A document as a passage; None where it has no text. Of its ``meta``, what is no plain value is left out."""
    if document.content is None:
        return None
    meta = {name: value for name, value in document.meta.items() if _is_plain(value)}
    title, url = (str(meta.pop(name, "")) for name in ("title", "url"))
    (text, title, url, meta), _ = mend([document.content, title, url, meta])
    return Passage(document.id, text, title, url, meta)


def ranked(hits: Iterable[Hit], scored: bool) -> Ranking:
    """Hits in the order that a component gave them as a ranking, each id once, where it came first.

    Their scores stay where all are ``scored`` and none is higher than one before it; else the order says more than the
    scores do, and rank r scores 1 / (60 + r).

    :raises NotFinite: for a score that is NaN or infinite.
    """
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.id, hit)
    once = list(first.values())
    if not scored or any(above.score < below.score for above, below in pairwise(once)):
        once = [Hit(hit.id, 1 / (RRF_K + rank), hit.passage) for rank, hit in enumerate(once, 1)]
    return Ranking.of(once)


def _is_plain(value: object) -> bool:
    return isinstance(value, MetaValue) and not (isinstance(value, float) and not math.isfinite(value))
