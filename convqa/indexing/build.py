"""Index passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from convqa.domain import Passage
from convqa.errors import DuplicatePassage, InputError
from convqa.indexing.passages import places_of, read_passages
from convqa.stores import create_store, exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import WritableStore
from convqa.tasks.base import Task

_REPORT = 1000


class Progress(Protocol):
    """Called with the number of passages done; ``total`` 0 means unknown."""

    def __call__(self, done: int, total: int = 0) -> None: ...


def index_passages(
    sources: Sequence[Path],
    url: str,
    *,
    add: bool,
    replace: bool,
    language: str | None,
    settings: Mapping[str, object] | None,
    progress: Progress | None,
    task: Task | None,
) -> None:
    """Index files of passages (:func:`read_passages`), or the passages of a task's inputs: all or none."""
    if add and replace:
        raise InputError("expected add or replace, got both.")
    if task is not None:
        language = language or task.language
    passages = reporting(read_passages(sources) if task is None else _passages_of(task, sources), progress)
    try:
        if add and exists(url):
            if settings:
                raise InputError(
                    f"collection {redact(url)} exists, and adding cannot change its settings; got "
                    f"{', '.join(settings)}. Leave them out, or make a new collection with --replace."
                )
            store = writable(url, language)
            store.add(passages)
            store.commit()
        else:
            build(passages, url, language, replace, settings)
    except DuplicatePassage as error:
        if task is not None:
            raise
        raise InputError(f"{' and '.join(places_of(sources, error.id))}: {error}") from error


def _passages_of(task: Task, sources: Sequence[Path]) -> Iterator[Passage]:
    """Yield the passages of a task's inputs without duplicates."""
    seen: set[str] = set()
    for source in sources:
        passages = task.passages(source)
        if passages is None:
            raise InputError(f"{source}: an input of the task {task.name} has no passages; give files of passages.")
        for passage in passages:
            if passage.id not in seen:
                seen.add(passage.id)
                yield passage


def build(
    passages: Iterable[Passage],
    url: str,
    language: str | None = None,
    replace: bool = False,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Build a new collection, which appears when it is complete."""
    with create_store(url, language, replace, settings) as store:
        store.add(passages)


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
