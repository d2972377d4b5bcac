"""Passages into a collection."""

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
    """Told how many passages are done; ``total`` 0 means unknown."""

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
    """Index files of passages (:func:`read_passages`), or what inputs of a task bring: all of them or none."""
    if add and replace:
        raise InputError("add and replace exclude each other: give one of them.")
    if task is not None:
        language = language or task.language
    passages = reporting(read_passages(sources) if task is None else _brought(task, sources), progress)
    try:
        if add and exists(url):
            if settings:
                raise InputError(
                    f"collection {redact(url)} is there, and adding does not change how it was made; found "
                    f"{', '.join(settings)}. Leave them out; convqa collections set changes k1, b and replicas, and "
                    "--replace makes the collection anew."
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


def _brought(task: Task, sources: Sequence[Path]) -> Iterator[Passage]:
    """The passages of a task's inputs; one that several bring is one."""
    seen: set[str] = set()
    for source in sources:
        passages = task.passages(source)
        if passages is None:
            raise InputError(f"{source}: an input of the task {task.name} brings no passages; give files of passages.")
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
    """A new collection of passages, in place when it is whole."""
    with create_store(url, language, replace, settings) as store:
        store.add(passages)


def writable(url: str, language: str | None) -> WritableStore:
    """The collection at a URL, to be added to. :raises InputError: if it cannot be, or is in another language."""
    store = open_store(url)
    info = store.info()
    if not isinstance(store, WritableStore) or "write" not in info.capabilities:
        raise InputError(f"collection {redact(url)} ({info.engine}) cannot be added to.")
    if language is not None and language != info.language:
        raise InputError(
            f"collection {redact(url)} is in language {info.language!r}, not {language!r}: add with --language "
            f"{info.language}, or make a collection of its own."
        )
    return store


def reporting(passages: Iterator[Passage], progress: Progress | None) -> Iterator[Passage]:
    """The same passages; ``progress`` hears of them as they go by."""
    done = 0
    for done, passage in enumerate(passages, 1):
        yield passage
        if progress is not None and done % _REPORT == 0:
            progress(done)
    if progress is not None:
        progress(done)
