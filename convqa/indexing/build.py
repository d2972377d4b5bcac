"""Index passages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.stores import open_store
from convqa.stores.address import redact
from convqa.stores.base import WritableStore

_REPORT = 1000


class Progress(Protocol):
    """Called with the number of passages done; ``total`` 0 means unknown."""

    def __call__(self, done: int, total: int = 0) -> None: ...


def writable(url: str, language: str | None) -> WritableStore:
    """Open a collection for adding. :raises InputError: if it is read-only or in another language."""
    store = open_store(url)
    info = store.info()
    if not isinstance(store, WritableStore) or "write" not in info.capabilities:
        raise InputError(f"collection {redact(url)} ({info.engine}) cannot be added to.")
    if language is not None and language != info.language:
        raise InputError(
            f"collection {redact(url)} is in language {info.language!r}, not {language!r}: add with --language "
            f"{info.language}, or make another collection."
        )
    return store


def reporting(passages: Iterator[Passage], progress: Progress | None) -> Iterator[Passage]:
    """Yield the same passages and report their number to ``progress``."""
    done = 0
    for done, passage in enumerate(passages, 1):
        yield passage
        if progress is not None and done % _REPORT == 0:
            progress(done)
    if progress is not None:
        progress(done)
