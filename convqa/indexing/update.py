"""Update a collection of documents: add new and changed ones, and delete missing ones.

The first passage of a document has the document's digest and number of passages, so that fetching first passages
suffices to find changes. The whole collection is scanned only if it holds more than these documents.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.indexing.documents import DocumentFile, Formats, digest, find_documents, read_document
from convqa.indexing.formats import Unreadable, document_formats
from convqa.indexing.passages import PassageProgress, read_passages, reporting
from convqa.stores import create_store, exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Info, WritableStore
from convqa.tasks.base import Task

logger = logging.getLogger(__name__)

Files = Mapping[str, DocumentFile]
"""Documents by name."""


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
    sources: Sequence[str | Path],
    url: str,
    *,
    add: bool = False,
    replace: bool = False,
    language: str | None = None,
    settings: Mapping[str, object] | None = None,
    progress: PassageProgress | None = None,
    task: Task | None = None,
    base_url: str = "",
) -> Indexed:
    """Index documents, or files of passages (:func:`read_passages`), atomically.

    An existing collection of documents is updated; a document that cannot be opened keeps its passages there. Passages
    are added to an existing collection only with ``add``.

    :param sources: files, folders, and ``scheme:...`` of a source of documents that another package adds.
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
    formats = document_formats()
    files = {} if task else find_documents(sources, formats)
    if base_url and not files:
        raise InputError("base_url applies to documents only; passages have their own url.")
    is_new = replace or not exists(url) or not (files or add)
    if settings and not is_new:
        logger.warning("%s: applies to new collections only; this one keeps its settings", ", ".join(settings))
    if task is not None:
        language = language or task.language
    with create_store(url, language, replace, settings) if is_new else nullcontext(_writable(url, language)) as store:
        indexed = Indexed(store.info())
        if files:
            indexed = _update(store, files, formats, add, base_url, progress)
        else:
            paths = [Path(source) for source in sources]
            passages = read_passages(paths) if task is None else _passages_of(task, paths)
            store.add(reporting(passages, progress))
            store.commit()
        if files and is_new and len(indexed.unread) == len(files):
            reasons = "; ".join(f"{name}: {why}" for name, why in indexed.unread.items())
            raise InputError(f"no document can be read: {reasons}.")
    for name, why in indexed.unread.items():
        logger.warning("not indexed: %s: %s", name, why)
    return dataclasses.replace(indexed, info=open_store(url).info())


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
    store: WritableStore,
    files: Files,
    formats: Formats,
    add: bool,
    base_url: str,
    progress: PassageProgress | None,
) -> Indexed:
    """Add new and changed documents and delete missing ones."""
    info = store.info()
    first_passages = store.fetch([f"{name}_p1" for name in files])
    known = {name: first.meta for name, first in zip(files, first_passages, strict=True) if first is not None}
    if info.count and not add and not known:
        raise InputError(
            "the collection exists and has none of these documents. --add adds them, --replace makes a new collection."
        )
    sizes = {name: int(meta.get("passages", 1)) for name, meta in known.items()}
    gone: dict[str, str] = {}
    if info.count > sum(sizes.values()) and not add:
        for passage in store.scan():
            name = _document_of(passage)
            if name and name not in files:
                gone[passage.id] = name
    unread: dict[str, str] = {}
    fresh: list[str] = []
    same = 0
    for name, file in files.items():
        data = _data(file, unread)
        if data is None:
            continue
        if name in known and known[name].get("digest") == digest(data, file.meta, base_url):
            same += 1
        else:
            fresh.append(name)
    outdated = [f"{name}_p{number}" for name in fresh for number in range(1, sizes.get(name, 0) + 1)]
    if gone or outdated:
        store.delete([*gone, *outdated])
    if gone or fresh:
        passages = _read([files[name] for name in fresh], formats, unread, info.language, base_url)
        store.add(reporting(passages, progress))
        store.commit()
    return Indexed(info, read=len(set(fresh) - set(unread)), same=same, gone=len(set(gone.values())), unread=unread)


def _read(
    files: Sequence[DocumentFile], formats: Formats, unread: dict[str, str], language: str, base_url: str
) -> Iterator[Passage]:
    """Yield the passages of documents. Unreadable documents are added to ``unread``."""
    for file in files:
        data = _data(file, unread)
        if data is None:
            continue
        try:
            yield from read_document(file, data, formats, language, base_url)
        except Unreadable as error:
            unread[file.name] = str(error)


def _data(file: DocumentFile, unread: dict[str, str]) -> bytes | None:
    """Return the bytes of a document; None, with a reason in ``unread``, if it cannot be opened."""
    try:
        return file.data()
    except OSError as error:
        unread[file.name] = f"it cannot be opened ({error.strerror or error})"
        return None


def _document_of(passage: Passage) -> str:
    """Return the name of a passage's document, "" if it has none."""
    name = str(passage.meta.get("file", ""))
    return name if name and passage.id.startswith(f"{name}_p") else ""
