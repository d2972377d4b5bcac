"""Index sources into a collection, and update a collection of documents.

The first passage of a document has the document's digest, by which a changed document is known.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from convqa.documents import Unreadable
from convqa.documents.child import DocumentReader
from convqa.documents.find import DocumentFile, Files, Found, described, find_documents
from convqa.documents.formats import document_formats
from convqa.documents.passages import digest, read_document
from convqa.domain import Passage
from convqa.errors import CollectionBusy, InputError
from convqa.exports.text import escape
from convqa.indexing.passages import PassageProgress, read_passages, reporting
from convqa.indexing.vectors import add_vectors, default_encoder, writable
from convqa.stores import create_store, exists, open_store
from convqa.stores.base import Info, WritableStore
from convqa.tasks.base import Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Indexed:
    """The result of indexing. Of the documents, ``read`` were new or changed, ``same`` unchanged and ``gone`` deleted.

    ``unread``: name -> reason of the documents that could not be read. ``counts``: what was read, such as {"pages": 12,
    "tables": 3}. ``partly``: name -> what was not read of a document, such as "page 2 is a picture".
    """

    info: Info
    read: int = 0
    same: int = 0
    gone: int = 0
    unread: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    partly: Mapping[str, Sequence[str]] = field(default_factory=dict)


def index_sources(
    sources: Sequence[str | Path],
    url: str,
    *,
    add: bool = False,
    replace: bool = False,
    language: str | None = None,
    progress: PassageProgress | None = None,
    task: Task | None = None,
    base_url: str = "",
) -> Indexed:
    """Index documents, or files of passages (:func:`read_passages`), atomically.

    An existing collection of documents is updated; a document that cannot be opened keeps its passages there. Passages
    are added to an existing collection only with ``add``.

    :param sources: files, folders, and ``scheme:...`` of a source of documents in another package.
    :param add: keep what is not among the sources. :param replace: build a new collection and swap it in.
    :param language: the language of the texts; None = the collection's, or its file's, else English.
    :param task: index the passages of ``sources`` as inputs of this task, in its language.
    :param base_url: where the documents are served, for the ``url`` of each passage.
    :raises InputError: for malformed files, unreadable documents only, a missing package, an existing collection
        without ``add`` or ``replace``, a read-only one or one in another language.
    """
    if add and replace:
        raise InputError("--add and --replace exclude each other: use one of them.")
    files, skipped, unread = Found({}, {}, {}) if task else find_documents(sources, document_formats())
    if base_url and not files:
        raise InputError("base_url applies to documents only; passages have their own url.")
    is_new = replace or not exists(url) or not (files or add)
    if task is not None:
        language = language or task.language
    with create_store(url, language, replace) if is_new else nullcontext(writable(url, language)) as store:
        indexed = Indexed(store.info())
        if files:
            whole = not all(Path(source).is_file() for source in sources)
            indexed = _update(store, files, () if add else None, base_url, progress, whole)
        else:
            paths = [Path(source) for source in sources]
            passages = read_passages(paths) if task is None else _passages_of(task, paths)
            store.add(reporting(passages, progress))
            store.commit()
        if files and is_new and len(indexed.unread) == len(files):
            reasons = "; ".join(f"{escape(name)}: {why}" for name, why in indexed.unread.items())
            raise InputError(f"no document can be read: {reasons}.")
    unread = {**unread, **indexed.unread}
    for name, why in unread.items():
        logger.warning("not indexed: %s: %s", escape(name), why)
    if skipped:
        logger.warning("other files were skipped: %s", described(skipped))
    return dataclasses.replace(indexed, info=open_store(url).info(), unread=unread)


def update_documents(folder: Path, name: str, url: str) -> Indexed:
    """Index a document of a folder, with vectors if others have some, or delete it if it is gone.

    The other documents of the collection are kept.
    """
    found = find_documents([folder], document_formats()).files if (folder / name).exists() else {}
    files = {name: found[name]} if found else {}
    indexed = _update(writable(url), files, () if files else (name,))
    encoder = open_store(url).info().encoder and default_encoder(url)
    # Another process that indexes meanwhile makes the missing vectors.
    with suppress(CollectionBusy):
        if encoder:
            add_vectors(url, encoder)
    return indexed


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
    gone: Sequence[str] | None,
    base_url: str = "",
    progress: PassageProgress | None = None,
    whole: bool = True,
) -> Indexed:
    """Add new and changed documents and delete those that are gone; None = all others.

    :param whole: whether the files are all of a folder, so that others were deleted there.
    """
    info = store.info()
    held: dict[str, list[str]] = defaultdict(list)
    versions: dict[str, object] = {}
    for passage in store.scan():
        if name := _document_of(passage):
            held[name].append(passage.id)
            if "digest" in passage.meta:
                versions[name] = passage.meta["digest"]
    if gone is None:
        gone = [name for name in held if name not in files]
        if info.count and (len(gone) == len(held) or (gone and not whole)):
            raise InputError(
                "the collection has other documents, and SOURCES is no folder with some of them. --add keeps them, "
                "--replace makes a new collection."
            )
    unread: dict[str, str] = {}
    fresh: list[DocumentFile] = []
    for name, file in files.items():
        try:
            version = digest(_data(file), file.meta, base_url)
        except Unreadable as error:
            unread[name] = str(error)
            continue
        if versions.get(name) != version:
            fresh.append(file)
    same = len(files) - len(fresh) - len(unread)
    changed = [*gone, *(file.name for file in fresh)]
    outdated = [id for name in changed for id in held[name]]
    partly: dict[str, tuple[str, ...]] = {}
    counts: Counter[str] = Counter()

    def passages() -> Iterator[Passage]:
        with DocumentReader() as reader:
            for file in fresh:
                try:
                    document = read_document(file, _data(file), reader, info.language, base_url)
                except Unreadable as error:
                    unread[file.name] = str(error)
                    continue
                counts.update(document.counts)
                if document.unread:
                    partly[file.name] = document.unread
                yield from document.passages

    if outdated:
        store.delete(outdated)
    if changed:
        store.add(reporting(passages(), progress))
        store.commit()
    for name, parts in partly.items():
        # Images and the like come before words.
        log = logger.info if "of navigation" in parts[0] else logger.warning
        log("%s: left out: %s.", name, "; ".join(parts))
    return Indexed(info, len(files) - same - len(unread), same, len(gone), unread, counts, partly)


def _data(file: DocumentFile) -> bytes:
    """Return the bytes of a document. :raises Unreadable: if it cannot be opened."""
    try:
        return file.data()
    except OSError as error:
        raise Unreadable(f"it cannot be opened ({error.strerror or error})") from error


def _document_of(passage: Passage) -> str:
    """Return the name of a passage's document, "" if it has none."""
    name = str(passage.meta.get("file", ""))
    return name if name and passage.id.startswith(f"{name}_p") else ""
