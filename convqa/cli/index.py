"""``convqa index``: make a collection of documents or passages."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import (
    K1,
    B,
    ExecutorName,
    ModelSettings,
    Replicas,
    VectorIndex,
    VectorPrecision,
    WorkerCount,
    given,
)
from convqa.cli.progress import Progress
from convqa.errors import InputError
from convqa.text.languages import languages
from convqa.workers import start_workers

if TYPE_CHECKING:
    from convqa.components.encoding import ModelOptions
    from convqa.indexing import Indexed
    from convqa.models import TextEncoder
    from convqa.stores.base import Info, VectorOptions
    from convqa.workers import Workers


Target = Annotated[
    str,
    typer.Option(
        "--collection",
        help="Collection to create or update: a folder, elasticsearch://HOST:PORT/INDEX, or a file or name in "
        "configs/collections.",
    ),
]
Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCES",
        help="Documents (.txt, .md, .html, .docx, .pdf), or JSONL files of passages (plain or gzip), or folders of "
        "either. Omit to only add --vectors to an existing collection.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        help=f"Language of the passages: {', '.join(sorted(languages()))}. Default: that of the task or existing "
        "collection, or en."
    ),
]
Brought = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="Index the passages in inputs of this task (jwhr, poleval).",
    ),
]
BaseUrl = Annotated[
    str,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Base URL of the documents, so that citations link to a document, and to the page of a PDF.",
    ),
]
Shards = Annotated[int | None, typer.Option(min=1, help="Shards of a new Elasticsearch index.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Concurrent requests while loading into Elasticsearch.")]
Vectors = Annotated[
    str | None,
    typer.Option(
        metavar="ENCODER",
        help="Also store vectors of this encoder: encoder (shipped), a folder or a Hugging Face name.",
    ),
]

SparseModel = Annotated[
    str | None,
    typer.Option(
        "--sparse", metavar="MODEL", help="Store token weights of this model, such as SPLADE, instead of vectors."
    ),
]
ShardOf = Annotated[
    str | None,
    typer.Option(metavar="I/N", help="Encode only shard I of N, into --part (see convqa collections merge)."),
]
Part = Annotated[str | None, typer.Option("--part", metavar="FOLDER", help="Output folder of --shard.")]


@command
def index(
    collection: Target,
    sources: Sources = None,
    add: Annotated[bool, typer.Option("--add", help="Keep existing passages that are not in SOURCES.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Index everything again.")] = False,
    language: Language = None,
    task: Brought = None,
    base_url: BaseUrl = "",
    k1: K1 = None,
    b: B = None,
    shards: Shards = None,
    replicas: Replicas = None,
    threads: Threads = None,
    vectors: Vectors = None,
    sparse: SparseModel = None,
    vector_precision: VectorPrecision = None,
    vector_index: VectorIndex = None,
    shard: ShardOf = None,
    part: Part = None,
    executor: ExecutorName = "local",
    workers: WorkerCount = None,
    *,
    encoding: ModelSettings,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress and summary.")] = False,
) -> int | None:
    """Index documents or passages.

    Documents are split into passages. A passage in a JSONL file has id, text (or contents) and optionally title, url
    and meta. Run the command again to index only new and changed documents and to remove deleted ones. Unreadable
    documents are named and skipped, with exit code 1.

    A new version becomes visible only once it is complete. After an interruption, run the same command again: passages
    are indexed from the start. Vectors are made last; --vectors without SOURCES resumes them.
    """
    from convqa.indexing import index_sources, refuse_vectors
    from convqa.tasks import find_task

    if task is not None and not sources:
        raise InputError("--task requires SOURCES.")
    brings = find_task(task, Path(sources[0])) if task and sources else None
    if vectors and sparse:
        raise InputError("--vectors, --sparse: use only one; a collection has vectors of one model.")
    settings = given(k1=k1, b=b, shards=shards, replicas=replicas, threads=threads)
    kept_as = given(precision=vector_precision, index=vector_index)
    model, options = _encoder(vectors or sparse, kept_as, encoding.models, bool(sparse))
    if not sources and (model is None or replace or language or settings):
        raise InputError("SOURCES is missing. Only --vectors and --sparse, for an existing collection, work without.")
    if model is not None and not replace:
        refuse_vectors(collection, model)
    indexed = info = None
    if sources:
        with Progress("indexing", "passages", quiet) as shown:
            how = {"add": add, "replace": replace, "language": language, "task": brings, "base_url": base_url}
            indexed = index_sources(sources, collection, settings=settings, progress=shown, **how)  # type: ignore[arg-type]
            info = indexed.info
    if model is not None:
        info = _encode(collection, model, options, shard, part, start_workers(executor, workers), quiet)
    if info is not None and not quiet:
        _print(indexed, info, part or collection)
    return int(indexed is not None and bool(indexed.unread))


def _encode(
    collection: str,
    model: TextEncoder,
    options: VectorOptions | None,
    shard: str | None,
    part: str | None,
    crew: AbstractContextManager[Workers | None],
    quiet: bool,
) -> Info:
    from convqa.indexing import add_vectors
    from convqa.indexing.parts import encode_shard
    from convqa.workers.shard import Shard

    if (shard is None) != (part is None) or (shard and options):
        raise InputError("--shard and --part require each other. Pass --vector-... options to collections merge.")
    with crew as workers, Progress("encoding", "passages", quiet) as shown:
        if shard is None or part is None:
            return add_vectors(collection, model, options, shown, workers)
        return encode_shard(collection, model, Shard.parse(shard), part, shown, workers)


def _encoder(
    name: str | None, options: dict[str, object], runs: ModelOptions, sparse: bool
) -> tuple[TextEncoder | None, VectorOptions | None]:
    """Load the encoder of the vectors, before any passage is indexed, and return it with the vectors' options.

    :param runs: how it runs. :param sparse: whether its vectors are token weights.
    :raises InputError: for an unknown encoder, or for options without one.
    """
    if name is None:
        if options or runs:
            raise InputError("--vector-precision, --vector-index, --device and --precision require --vectors ENCODER.")
        return None, None
    from convqa.models import Options, load_encoder
    from convqa.stores.base import VectorOptions

    kept_as = VectorOptions(**options) if options else None  # type: ignore[arg-type]
    return load_encoder(name, Options(**runs), sparse), kept_as


def _print(indexed: Indexed | None, info: Info, collection: str) -> None:
    from convqa.stores.address import redact

    if indexed is not None and (files := indexed.read + indexed.same + len(indexed.unread)):
        unread = f"{len(indexed.unread)} could not be read"
        typer.echo(
            f"{files} documents: {indexed.read} read, {indexed.same} unchanged, {indexed.gone} removed, {unread}"
        )
    where = f"{redact(collection)} ({info.engine}, {info.language})"
    typer.echo(f"{info.count} passages in {where}, checksum {info.checksum}")
    if info.encoder is not None:
        option, lacking = "sparse" if info.encoder.sparse else "vectors", info.count - info.vectors
        rest = f"; {lacking} passages have none. Add them with --{option} {info.encoder.name}" if lacking else ""
        typer.echo(f"{info.vectors} vectors of {info.encoder.name} ({info.encoder.dimension} dimensions){rest}")
