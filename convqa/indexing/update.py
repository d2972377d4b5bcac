"""Documents into a collection: those that are new or have changed, and out of it those that are gone.

A document's first passage keeps its digest and number of passages, so that asking for the first passages tells what has
changed; the collection is read whole only where it holds more than these documents.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.indexing.build import Progress, index_passages, reporting, writable
from convqa.indexing.documents import Unreadable, digest, find_documents, read_document
from convqa.stores import create_store, exists, open_store
from convqa.stores.base import Info, WritableStore
from convqa.tasks.base import Task

logger = logging.getLogger(__name__)

Files = Mapping[str, Path]
"""Documents by their names."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A collection after it was written to; how many documents were ``read`` because they are new or have changed, are
    the ``same`` as before, and are ``gone``; and why each that is ``unread`` could not be read."""

    info: Info
    read: int = 0
    same: int = 0
    gone: int = 0
    unread: Mapping[str, str] = field(default_factory=dict)


def index_sources(
    sources: Sequence[Path],
    url: str,
    *,
    add: bool = False,
    replace: bool = False,
    language: str | None = None,
    settings: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    task: Task | None = None,
    base_url: str = "",
) -> Indexed:
    """Index documents, or files of passages (:func:`read_passages`), as a collection: all at once, or not at all.

    A collection of documents that exists is brought up to date. A document that cannot be opened keeps the passages
    that it has there. Passages are added with ``add`` alone.

    :param add: leave in the collection what is not among the sources. :param replace: make it anew, aside, and put it
        in the old one's place.
    :param language: of the texts; None = the collection's own, or what its file says, else English.
    :param settings: the engine's own, for a collection that is made.
    :param task: ``sources`` are inputs of this task; indexed are the passages that they bring, in its language.
    :param base_url: where the documents are served: the ``url`` of each passage leads there.
    :raises InputError: for a mistake in the files, if no document can be read, a package is missing, the collection is
        there without ``add`` or ``replace`` or is another's, or the engine does not take a setting.
    """
    files = {} if task else find_documents(sources)
    if not files or (add and replace):
        if base_url:
            raise InputError("base_url is of documents: passages have a url of their own.")
        how = {"add": add, "replace": replace, "language": language, "settings": settings, "task": task}
        index_passages(sources, url, progress=progress, **how)  # type: ignore[arg-type]
        return Indexed(open_store(url).info())
    if settings and exists(url) and not replace:
        logger.warning("%s: of a new collection only; this one keeps what it was made with", ", ".join(settings))
    unread: dict[str, str] = {}
    is_new = replace or not exists(url)
    with create_store(url, language, replace, settings) if is_new else nullcontext(writable(url, language)) as store:
        counts = _update(store, files, unread, add, base_url, progress)
        if is_new and len(unread) == len(files):
            reasons = "; ".join(f"{name}: {why}" for name, why in unread.items())
            raise InputError(f"none of {len(files)} documents can be read: {reasons}.")
    for name, why in unread.items():
        logger.warning("not indexed: %s: %s", name, why)
    return Indexed(open_store(url).info(), *counts, unread)


def _update(
    store: WritableStore, files: Files, unread: dict[str, str], add: bool, base_url: str, progress: Progress | None
) -> tuple[int, int, int]:
    """Add what is new or has changed, delete what is gone; return how many documents were read, the same and gone."""
    info, firsts = store.info(), store.fetch([f"{name}_p1" for name in files])
    known = {name: first.meta for name, first in zip(files, firsts, strict=True) if first is not None}
    if info.count and not add and not known:
        raise InputError(
            "the collection exists, and has none of these documents. --add adds them to it, --replace makes it anew."
        )
    counts = {name: int(meta.get("passages", 1)) for name, meta in known.items()}
    others = store.scan() if info.count > sum(counts.values()) and not add else ()
    gone = {passage.id: file for passage in others if (file := _document(passage)) and file not in files}
    found = ((name, _data(name, path, unread)) for name, path in files.items())
    digests = {name: digest(data, base_url) for name, data in found if data is not None}
    fresh = [name for name in digests if name not in known or known[name].get("digest") != digests[name]]
    old = [*gone, *(f"{name}_p{number + 1}" for name in fresh for number in range(counts.get(name, 0)))]
    if old:
        store.delete(old)
    if old or fresh:
        passages = _passages({name: files[name] for name in fresh}, unread, info.language, base_url)
        store.add(reporting(passages, progress))
        store.commit()
    return len(set(fresh) - set(unread)), len(digests) - len(fresh), len(set(gone.values()))


def _passages(files: Files, unread: dict[str, str], language: str, base_url: str) -> Iterator[Passage]:
    """The passages of these documents; one that cannot be read has none, and is added to ``unread``."""
    for name, path in files.items():
        try:
            if (data := _data(name, path, unread)) is not None:
                yield from read_document(name, data, language, base_url)
        except Unreadable as error:
            unread[name] = str(error)


def _data(name: str, path: Path, unread: dict[str, str]) -> bytes | None:
    """The bytes of a document; None, and a reason in ``unread``, if it cannot be opened."""
    try:
        return path.read_bytes()
    except OSError as error:
        unread[name] = f"it cannot be opened ({error.strerror or error})"
        return None


def _document(passage: Passage) -> str:
    """The name of the document that a passage is of, if it is of one."""
    file = str(passage.meta.get("file", ""))
    return file if file and passage.id.startswith(f"{file}_p") else ""
