"""Update a collection of documents: add new and changed ones, and delete missing ones.

The first passage of a document has the document's digest and number of passages, so that fetching first passages
suffices to find changes. The whole collection is scanned only if it holds more than these documents.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.indexing.documents import Unreadable, digest, find_documents, read_document
from convqa.indexing.passages import Progress, read_passages, reporting
from convqa.stores import create_store, exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Info, WritableStore
from convqa.tasks.base import Task

logger = logging.getLogger(__name__)

Files = Mapping[str, Path]
"""Name -> path of documents."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The result of indexing. Of the documents, ``read`` were new or changed, ``same`` unchanged and ``gone`` deleted.

    ``unread``: name -> reason of the documents that could not be read.
    """

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
    """Index documents, or files of passages (:func:`read_passages`), atomically.

    An existing collection of documents is updated; a document that cannot be opened keeps its passages there. Passages
    are added to an existing collection only with ``add``.

    :param add: keep what is not among the sources. :param replace: build a new collection and swap it in.
    :param language: the language of the texts; None = the collection's, or its file's, else English.
    :param settings: engine settings of a new collection.
    :param task: index the passages of ``sources`` as inputs of this task, in its language.
    :param base_url: where the documents are served, for the ``url`` of each passage.
    :raises InputError: for malformed files, unreadable documents only, a missing package, an existing collection
        without ``add`` or ``replace``, a read-only one or one in another language, or an unknown setting.
    """
    if add and replace:
        raise InputError("--add and --replace exclude each other: use one of them.")
    files = {} if task else find_documents(sources)
    if base_url and not files:
        raise InputError("base_url applies to documents only; passages have their own url.")
    is_new = replace or not exists(url) or not (files or add)
    if settings and not is_new:
        logger.warning("%s: applies to new collections only; this one keeps its settings", ", ".join(settings))
    if task is not None:
        language = language or task.language
    unread: dict[str, str] = {}
    counts = 0, 0, 0
    with create_store(url, language, replace, settings) if is_new else nullcontext(_writable(url, language)) as store:
        if files:
            counts = _update(store, files, unread, add, base_url, progress)
        else:
            store.add(reporting(read_passages(sources) if task is None else _passages_of(task, sources), progress))
            store.commit()
        if files and is_new and len(unread) == len(files):
            reasons = "; ".join(f"{name}: {why}" for name, why in unread.items())
            raise InputError(f"no document can be read: {reasons}.")
    for name, why in unread.items():
        logger.warning("not indexed: %s: %s", name, why)
    return Indexed(open_store(url).info(), *counts, unread)


def _writable(url: str, language: str | None) -> WritableStore:
    """Open a collection for adding."""
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


def _update(
    store: WritableStore, files: Files, unread: dict[str, str], add: bool, base_url: str, progress: Progress | None
) -> tuple[int, int, int]:
    """Add new and changed documents and delete missing ones. Return the numbers of read, same and gone documents."""
    info, firsts = store.info(), store.fetch([f"{name}_p1" for name in files])
    known = {name: first.meta for name, first in zip(files, firsts, strict=True) if first is not None}
    if info.count and not add and not known:
        raise InputError(
            "the collection exists and has none of these documents. --add adds them, --replace makes a new collection."
        )
    counts = {name: int(meta.get("passages", 1)) for name, meta in known.items()}
    others = store.scan() if info.count > sum(counts.values()) and not add else ()
    gone = {passage.id: file for passage in others if (file := _document(passage)) and file not in files}
    contents = ((name, _data(name, path, unread)) for name, path in files.items())
    digests = {name: digest(data, base_url) for name, data in contents if data is not None}
    fresh = [name for name in digests if name not in known or known[name].get("digest") != digests[name]]
    old = [*gone, *(f"{name}_p{number + 1}" for name in fresh for number in range(counts.get(name, 0)))]
    if old:
        store.delete(old)
    if old or fresh:
        passages = _read({name: files[name] for name in fresh}, unread, info.language, base_url)
        store.add(reporting(passages, progress))
        store.commit()
    return len(set(fresh) - set(unread)), len(digests) - len(fresh), len(set(gone.values()))


def _read(files: Files, unread: dict[str, str], language: str, base_url: str) -> Iterator[Passage]:
    """Yield the passages of documents. Unreadable documents are added to ``unread``."""
    for name, path in files.items():
        try:
            if (data := _data(name, path, unread)) is not None:
                yield from read_document(name, data, language, base_url)
        except Unreadable as error:
            unread[name] = str(error)


def _data(name: str, path: Path, unread: dict[str, str]) -> bytes | None:
    """Return the bytes of a document; None, with a reason in ``unread``, if it cannot be opened."""
    try:
        return path.read_bytes()
    except OSError as error:
        unread[name] = f"it cannot be opened ({error.strerror or error})"
        return None


def _document(passage: Passage) -> str:
    """Return the name of a passage's document, "" if it has none."""
    file = str(passage.meta.get("file", ""))
    return file if file and passage.id.startswith(f"{file}_p") else ""
