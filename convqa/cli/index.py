"""``convqa index``: make a collection of documents or passages."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import (
    K1,
    AllowDownload,
    B,
    Device,
    ExecutorName,
    Precision,
    Replicas,
    VectorIndex,
    VectorPrecision,
    WorkerCount,
    given,
    options_of,
)
from convqa.cli.progress import Progress
from convqa.errors import InputError
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
        help="The collection to make: a folder, elasticsearch://HOST:PORT/INDEX, a YAML file of configs/collections, "
        "or the name of a shipped one.",
    ),
]
Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SOURCES",
        help="Documents (.txt, .md, .html, .docx, .pdf) and folders of them at any depth; or passages: JSONL files, "
        "plain or gzip, and folders of these. None: only --vectors, to a collection that is there.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        help="Language of the passages: en, de, ja or pl. Else that of the task, or of the collection added to, or en."
    ),
]
Brought = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="SOURCES are inputs of this task (jwhr, poleval): index the passages that they bring, in its language.",
    ),
]
BaseUrl = Annotated[
    str,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Where the folder of documents is served: citations then link to the document, and a PDF's page.",
    ),
]
Shards = Annotated[int | None, typer.Option(min=1, help="Parts of a new index on a server.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Requests at once while a new index is filled.")]
Vectors = Annotated[
    str | None,
    typer.Option(
        metavar="ENCODER",
        help="Give every passage a vector too: encoder (ships with convqa), a folder or a Hugging Face name.",
    ),
]

SparseModel = Annotated[
    str | None,
    typer.Option("--sparse", metavar="MODEL", help="Instead token weights of a model such as SPLADE."),
]
ShardOf = Annotated[
    str | None,
    typer.Option(
        metavar="I/N", help="Encode only part I of N of the passages, into --part; see convqa collections merge."
    ),
]
Part = Annotated[str | None, typer.Option("--part", metavar="FOLDER", help="Where the vectors of --shard go.")]


@command
def index(
    collection: Target,
    sources: Sources = None,
    add: Annotated[bool, typer.Option("--add", help="Add to the collection, or create it.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing collection.")] = False,
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
    device: Device = "auto",
    precision: Precision = "auto",
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no summary.")] = False,
) -> int | None:
    """Index documents, or passages: JSON lines with id, text (or contents) and optionally title, url, meta.

    Documents are cut into passages. Run again, the command reads new and changed documents and removes deleted ones,
    except with --add. It names unreadable documents, indexes the others, and exits with code 1.

    After an interrupted or killed load into Elasticsearch, the same command resumes at most 20,000 passages back; in a
    folder it starts again. Nothing is visible before everything is indexed. Vectors are made after the passages and
    kept: without SOURCES, --vectors resumes.
    """
    from convqa.indexing import index_sources, refuse_vectors
    from convqa.tasks import find_task

    if task is not None and not sources:
        raise InputError("--task says what SOURCES are: give them too.")
    brings = find_task(task, sources[0]) if task and sources else None
    if vectors and sparse:
        raise InputError("--vectors, --sparse: a collection has vectors of one model: give one of these.")
    settings = given(k1=k1, b=b, shards=shards, replicas=replicas, threads=threads)
    kept_as = given(precision=vector_precision, index=vector_index)
    model, options = _encoder(vectors or sparse, kept_as, options_of(device, precision), bool(sparse))
    if not sources and (model is None or replace or language or settings):
        raise InputError("SOURCES is missing: only --vectors or --sparse, to a collection that is there, goes without.")
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
        raise InputError("--shard I/N and --part FOLDER go together; give --vector-... options to collections merge.")
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
        if options:
            flags = {"precision": "--vector-precision", "index": "--vector-index"}
            named = " and ".join(flags[name] for name in options)
            raise InputError(f"{named}: these say how vectors are kept: give --vectors ENCODER too.")
        if runs:
            raise InputError("--device, --precision: these say how an encoder runs: give --vectors ENCODER too.")
        return None, None
    from convqa.models import Options, load_encoder
    from convqa.stores.base import VectorOptions

    kept_as = VectorOptions(**options) if options else None  # type: ignore[arg-type]
    return load_encoder(name, Options(**runs), sparse), kept_as


def _print(indexed: Indexed | None, info: Info, collection: str) -> None:
    from convqa.stores.address import redact

    if indexed is not None and (files := indexed.read + indexed.same + len(indexed.unread)):
        unread = f"{len(indexed.unread)} could not be read"
        typer.echo(f"{files} documents: {indexed.read} read, {indexed.same} as before, {unread}; {indexed.gone} gone")
    where = f"{redact(collection)} ({info.engine}, {info.language})"
    typer.echo(f"{info.count} passages in {where}, checksum {info.checksum}")
    if info.encoder is not None:
        option, lacking = "sparse" if info.encoder.sparse else "vectors", info.count - info.vectors
        rest = f"; {lacking} passages have none: give --{option} {info.encoder.name}" if lacking else ""
        typer.echo(f"{info.vectors} vectors of {info.encoder.name} ({info.encoder.dimension} dimensions){rest}")
