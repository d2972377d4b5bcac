"""``convqa index``: make a collection of documents or passages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import ExecutorName, ModelSettings, Quiet, WorkerCount
from convqa.cli.progress import ProgressDisplay
from convqa.errors import InputError
from convqa.workers import start_workers

if TYPE_CHECKING:
    from convqa.indexing import Indexed
    from convqa.stores.base import Info


def document_suffixes() -> Iterable[str]:
    """Return the suffixes of documents that can be indexed."""
    from convqa.documents.formats import document_formats

    return document_formats()


def tasks_with_passages() -> Iterable[str]:
    """Return the tasks whose inputs bring passages."""
    from convqa.tasks import Task, tasks

    return [name for name, task in tasks().items() if type(task).passages is not Task.passages]


def language_codes() -> Iterable[str]:
    """Return the languages that texts can have."""
    from convqa.text.languages import languages

    return sorted(languages())


@command
def index(
    collection: Annotated[
        str,
        Option(
            help="Collection to create or update: a folder, elasticsearch://HOST:PORT/INDEX, or a file or name in "
            "configs/collections.",
        ),
    ],
    sources: Annotated[
        list[str] | None,
        Argument(
            metavar="SOURCES",
            help=f"Documents ({', '.join(document_suffixes())}), or JSONL files of passages (plain or gzip), or "
            "folders of either. Omit to only add --vectors to an existing collection.",
        ),
    ] = None,
    add: Annotated[bool, Option("--add", help="Keep existing passages that are not in SOURCES.")] = False,
    replace: Annotated[bool, Option("--replace", help="Index everything again.")] = False,
    language: Annotated[
        str | None,
        Option(
            help=f"Language of the passages: {', '.join(language_codes())}, or another two-letter code (words without "
            "stop words). Default: that of the task or existing collection, or en."
        ),
    ] = None,
    task: Annotated[
        str | None,
        Option(
            metavar="TASK",
            help=f"Index the passages in inputs of this task ({', '.join(tasks_with_passages())}).",
        ),
    ] = None,
    base_url: Annotated[
        str,
        Option(
            metavar="URL",
            help="Base URL of the documents, so that citations link to a document, and to the page of a PDF.",
        ),
    ] = "",
    *,
    vectors: Annotated[
        str | None,
        Option(
            metavar="ENCODER",
            help="Store vectors of this encoder: encoder (shipped), multilingual (convqa models get), a folder or a "
            "Hugging Face name. Default: the first one that knows the language, for up to 50,000 or 12,000 passages.",
        ),
    ] = None,
    no_vectors: Annotated[bool, Option("--no-vectors", help="Store no vectors.")] = False,
    watch: Annotated[
        bool, Option("--watch", help="Go on after that: index again whenever a document changes, until Ctrl-C.")
    ] = False,
    executor: ExecutorName = "local",
    workers: WorkerCount = None,
    encoding: ModelSettings,
    quiet: Quiet = False,
) -> int | None:
    """Index documents or passages.

    Documents are split into passages. A passage in a JSONL file has id, text (or contents) and optionally title, url
    and meta. Run the command again to index only new and changed documents and to remove deleted ones. Unreadable
    documents are named and skipped, with exit code 1.

    A new version becomes visible only once it is complete. After an interruption, run the same command again: passages
    are indexed from the start. Vectors are made last, when the passages can be searched already; --vectors without
    SOURCES resumes them.
    """
    once = {**locals(), "watch": False}
    from convqa.cli.watching import index_again
    from convqa.indexing import add_vectors, default_encoder, index_sources, store_for_vectors
    from convqa.models import Options, load_encoder
    from convqa.stores import exists
    from convqa.tasks import find_task

    if task is not None and not sources:
        raise InputError("--task requires SOURCES.")
    if vectors and no_vectors:
        raise InputError("--vectors and --no-vectors exclude each other.")
    benchmark = find_task(task, Path(sources[0])) if task and sources else None
    encoder = None
    if vectors:
        encoder = load_encoder(vectors, Options(**encoding.models))
    elif encoding.models:
        raise InputError("--device and --precision require --vectors ENCODER.")
    if not sources and (encoder is None or replace or language):
        raise InputError("SOURCES is missing. Only --vectors, for an existing collection, works without.")
    if watch:
        index_again(sources or (), partial(index, **once))
        return 0
    if encoder is not None and not replace and exists(collection):
        store_for_vectors(collection, encoder)
    indexed = info = None
    if sources:
        with ProgressDisplay("indexing", "passages", quiet) as progress:
            indexed = index_sources(
                sources,
                collection,
                add=add,
                replace=replace,
                language=language,
                task=benchmark,
                base_url=base_url,
                progress=progress,
            )
        info = indexed.info
        if encoder is None and not no_vectors:
            encoder = default_encoder(collection)
    if encoder is not None:
        with start_workers(executor, workers) as started, ProgressDisplay("vectors", "passages", quiet) as progress:
            info = add_vectors(collection, encoder, progress, started)
    if info is not None and not quiet:
        _print(indexed, info, collection)
    return 1 if indexed is not None and indexed.unread else 0


def _print(indexed: Indexed | None, info: Info, collection: str) -> None:
    from convqa.errors import counted
    from convqa.stores.address import redact

    if indexed is not None:
        unread = len(indexed.unread)
        documents = indexed.read + indexed.same + unread
        if documents:
            changes = f"{indexed.read} read, {indexed.same} unchanged, {indexed.gone} removed"
            typer.echo(f"{counted(documents, 'documents')}: {changes}, {unread} could not be read")
        if any(indexed.counts.values()):
            counts = [counted(count, things) for things, count in indexed.counts.items() if count]
            typer.echo(f"in what was read: {', '.join(counts)}")
    typer.echo(f"{counted(info.count, 'passages')} in {redact(collection)} ({info.engine}, {info.language})")
    if info.encoder is None:
        return
    missing = info.count - info.vectors
    without = f"; {counted(missing, 'passages')} {'has' if missing == 1 else 'have'} none" if missing else ""
    typer.echo(f"{counted(info.vectors, 'vectors')} of {info.encoder.name}{without}")
