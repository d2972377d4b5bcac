"""Documents into a collection: those that are new or have changed, and out of it those that are gone.

A document's first passage keeps its digest and number of passages, so that asking for the first passages tells what has
changed; the collection is read whole only where it holds more than these documents.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.indexing.build import Progress, writable
from convqa.indexing.documents import File, Unreadable, check_packages, digest, read_document
from convqa.stores import create_store, exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Info, Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Indexed:
    """A collection after it was written to, and how many documents were found new, changed, as before (``same``) and
    gone. ``unread``: the names of those that could not be read, and why."""

    info: Info
    new: int = 0
    changed: int = 0
    same: int = 0
    gone: int = 0
    unread: Mapping[str, str] = field(default_factory=dict)


def index_documents(
    files: Sequence[File],
    url: str,
    *,
    add: bool = False,
    replace: bool = False,
    language: str | None = None,
    settings: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    base_url: str = "",
) -> Indexed:
    """Make a collection of documents, or bring one that exists up to date: all at once, or nothing.

    A document that cannot be opened keeps the passages that the collection has of it.

    :param add: leave in the collection what is not among ``files``. :param replace: make it anew.
    :param base_url: where the documents are served: each passage's ``url`` is its document there.
    :param settings: the engine's own, for a collection that is made.
    :raises InputError: if no document can be read, a package is missing, or the collection is another's.
    """
    if add and replace:
        raise InputError("add and replace exclude each other: give one of them.")
    work = _Work(base_url, progress)
    if replace or not exists(url):
        check_packages(files)
        with create_store(url, language, replace, settings) as store:
            store.add(work.passages(files, store.info().language))
            if len(work.unread) == len(files):
                raise InputError(f"none of {len(files)} documents can be read: {'; '.join(work.messages())}.")
        return work.done(url, new=len(files) - len(work.unread))
    if settings:
        logger.warning("%s: of a new collection only; this one keeps what it was made with", ", ".join(settings))
    store = writable(url, language)
    info = store.info()
    known = store.fetch([f"{file.name}_p1" for file in files])
    if info.count and not add and not any(known):
        raise InputError(
            f"collection {redact(url)} exists, and none of these documents is in it. --add adds them to it, --replace "
            "makes it anew."
        )
    new, changed = work.compare(files, known)
    old = [f"{name}_p{number}" for name, count in changed.items() for number in range(1, count + 1)]
    gone = {} if add else _gone(store, info.count - sum(map(_count, known)), {file.name for file in files})
    fresh = [file for file in files if file.name in new or file.name in changed]
    check_packages(fresh)
    if fresh or gone:
        store.delete([*old, *(id for ids in gone.values() for id in ids)])
        store.add(work.passages(fresh, info.language))
        store.commit()
    same = len(files) - len(new) - len(changed) - len(set(work.unread) - new - set(changed))
    return work.done(url, len(new - set(work.unread)), len(set(changed) - set(work.unread)), same, len(gone))


class _Work:
    """The documents that are read, and those that cannot be."""

    def __init__(self, base_url: str, progress: Progress | None) -> None:
        self.unread: dict[str, str] = {}
        self._base_url = base_url
        self._progress = progress

    def passages(self, files: Sequence[File], language: str) -> Iterator[Passage]:
        """The passages of these documents; one that cannot be read has none."""
        for number, file in enumerate(files, 1):
            if (data := self._data(file)) is not None:
                try:
                    yield from read_document(file, data, language, self._base_url)
                except Unreadable as error:
                    self.unread[file.name] = str(error)
            if self._progress is not None:
                self._progress(number, len(files))

    def compare(self, files: Sequence[File], known: Sequence[Passage | None]) -> tuple[set[str], dict[str, int]]:
        """Names of the documents that are new, and of those that have changed, with their numbers of old passages."""
        new, changed = set(), {}
        for file, first in zip(files, known, strict=True):
            if first is None:
                new.add(file.name)
            elif (data := self._data(file)) is not None and first.meta.get("digest") != digest(data, self._base_url):
                changed[file.name] = _count(first)
        return new, changed

    def _data(self, file: File) -> bytes | None:
        try:
            return file.path.read_bytes()
        except OSError as error:
            self.unread[file.name] = f"it cannot be opened ({error.strerror or error})"
            return None

    def messages(self) -> list[str]:
        return [f"{name}: {why}" for name, why in self.unread.items()]

    def done(self, url: str, new: int = 0, changed: int = 0, same: int = 0, gone: int = 0) -> Indexed:
        for message in self.messages():
            logger.warning("not indexed: %s", message)
        return Indexed(open_store(url).info(), new, changed, same, gone, self.unread)


def _count(first: Passage | None) -> int:
    """How many passages the document has of which this is the first."""
    return 0 if first is None else int(first.meta.get("passages", 1))


def _gone(store: Store, others: int, names: set[str]) -> dict[str, list[str]]:
    """The passages of documents that are not among ``names``, by document; none if there are no ``others``."""
    gone: dict[str, list[str]] = {}
    for passage in store.scan() if others else ():
        file = str(passage.meta.get("file", ""))
        if file and file not in names and passage.id.startswith(f"{file}_p"):
            gone.setdefault(file, []).append(passage.id)
    return gone
