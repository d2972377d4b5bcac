"""``convqa collections``: list, show, check and delete collections."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convqa.cli.app import group
from convqa.cli.options import Json, VectorIndex, VectorPrecision, given, print_json
from convqa.errors import InputError, StoreDamaged, StoreUnavailable

if TYPE_CHECKING:
    from convqa.stores.base import Info

_MOST = 20
"""Maximum problems to list."""

Collection = Annotated[
    str,
    typer.Argument(
        metavar="COLLECTION", help="Folder or URL of a collection, or a file or name in configs/collections."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Confirm. Without it, only print what would be done.")]

collections = group("collections", "List, show, check and delete collections.")


@collections("list")
def list_collections(
    place: Annotated[
        str | None, typer.Argument(metavar="PLACE", help="A folder, or a server such as elasticsearch://HOST:9200.")
    ] = None,
    json: Json = False,
) -> None:
    """List collections in a folder or on a server.

    Without PLACE, list those in the current folder and in the cache, and the files in configs/collections.
    """
    groups = _everywhere() if place is None else {_shown(place): _found(place)}
    if json:
        print_json([{"place": title, **entry} for title, entries in groups.items() for entry in entries])
        return
    for title, entries in groups.items():
        typer.echo(f"{title}:")
        for entry in entries:
            about = entry.get("problem") or ("count" in entry and _short(**entry)) or entry["url"]
            source = f", from {entry['source']}" if entry.get("source") else ""
            typer.echo(f"  {entry['name']}  {about}{source}")
        if not entries:
            typer.echo("  none")


@collections("show")
def show_collection(collection: Collection, json: Json = False) -> None:
    """Show details of a collection."""
    from convqa.stores import open_store

    info = open_store(collection).info()
    if json:
        print_json({"url": _shown(collection), **_json(info)})
        return
    typer.echo(f"{'collection':<12}{_shown(collection)}")
    for name, value in _lines(info).items():
        typer.echo(f"{name:<12}{value}")


@collections("check")
def check_collection(collection: Collection, json: Json = False) -> None:
    """Verify the checksums of a collection.

    Reads every file of a folder, or every passage on Elasticsearch. Exit code 1 if the collection is damaged.
    """
    from convqa.stores import check_store

    report = check_store(collection)
    if json:
        print_json({"url": _shown(collection), "damaged": bool(report.problems), **asdict(report)})
    else:
        typer.echo(f"{_shown(collection)}: {'damaged' if report.problems else 'ok'} ({report.compared})")
        rest = [f"and {len(report.problems) - _MOST} more: --json lists them"] if len(report.problems) > _MOST else []
        unchecked = [f"not checked: {report.unchecked}"] if report.unchecked else []
        for line in (*report.problems[:_MOST], *rest, *unchecked):
            typer.echo(f"  {line}")
    if report.problems:
        raise StoreDamaged(
            f"collection {_shown(collection)} is damaged. Index its passages again with --replace, or restore a copy."
        )


@collections("merge")
def merge_collection(
    collection: Collection,
    parts: Annotated[list[str], typer.Argument(metavar="PART...", help="Folders of all shards.")],
    vector_precision: VectorPrecision = None,
    vector_index: VectorIndex = None,
    json: Json = False,
) -> None:
    """Merge vectors of convqa index --shard into a collection."""
    from convqa.cli.progress import Progress
    from convqa.indexing.parts import merge_parts
    from convqa.stores.base import VectorOptions

    options = given(precision=vector_precision, index=vector_index)
    with Progress("adding", "vectors", json) as shown:
        kept = VectorOptions(**options) if options else None  # type: ignore[arg-type]
        info = merge_parts(collection, parts, kept, shown)
    _print(json, collection, _json(info), f"{_vectors(info)}. The parts can be deleted.")


@collections("delete")
def delete_collection(collection: Collection, yes: Yes = False, json: Json = False) -> None:
    """Permanently delete a collection."""
    from convqa.stores import delete_store

    if not yes:
        raise InputError(
            f"this would delete {_shown(collection)} ({_about(collection)}) permanently. Add --yes to confirm."
        )
    link = Path(_shown(collection))
    target = f", and {link.resolve()}, to which it links" if link.is_symlink() else ""
    delete_store(collection)
    _print(json, collection, {"deleted": True}, f"deleted{target}")


def _print(json: bool, collection: str, data: dict[str, Any], text: str) -> None:
    if json:
        print_json({"url": _shown(collection), **data})
    else:
        typer.echo(f"{_shown(collection)}: {text}")


def _everywhere() -> dict[str, list[dict[str, Any]]]:
    """List the collections of this folder and the cache, and the shipped files without opening their collections."""
    from convqa.places import cache_folder
    from convqa.stores.address import address, shipped_names

    cache = cache_folder() / "collections"
    shipped = [{"name": name, "url": _shown(address(name).url)} for name in shipped_names()]
    return {
        f"this folder ({Path.cwd()})": _found("."),
        f"the cache ({cache})": _found(str(cache)) if cache.is_dir() else [],
        "configs/collections (availability not checked)": shipped,
    }


def _found(place: str) -> list[dict[str, Any]]:
    """List the collections of a place. One that cannot be opened is listed with the reason."""
    from convqa.stores import find_stores, open_store

    entries = []
    for url in find_stores(place):
        try:
            about = _json(open_store(url).info())
        except (InputError, StoreDamaged, StoreUnavailable) as error:
            about = {"problem": str(error)}
        entries.append({"name": _shown(url), "url": _shown(url), **about})
    return entries


def _about(collection: str) -> str:
    """Describe a collection, which may be damaged.

    :raises InputError: if it does not exist.
    """
    from convqa.stores import open_store

    try:
        return _short(**_json(open_store(collection).info()))
    except StoreDamaged as error:
        return f"damaged: {error}"


def _shown(collection: str) -> str:
    """Return the URL behind a name, without credentials."""
    from convqa.stores.address import address, redact

    return redact(address(collection).url)


def _short(*, count: int, language: str, engine: str, **_: object) -> str:
    return f"{count} passages, {language}, {engine}"


def _lines(info: Info) -> dict[str, object]:
    fixed = {"k1": info.k1, "b": info.b}
    free = "set when searching" if {"k1", "b"} <= info.capabilities else "not known"
    bm25 = {name: free if value is None else f"{value} (fixed)" for name, value in fixed.items()}
    return {
        "engine": info.engine,
        "passages": info.count,
        "language": info.language,
        "analyzer": info.analyzer,
        "fields": ", ".join(info.fields),
        "checksum": info.checksum,
        "vectors": _vectors(info),
        **bm25,
        "can": ", ".join(sorted(info.capabilities)) or "search with its own settings only",
    }


def _vectors(info: Info) -> str:
    if info.encoder is None:
        return "none"
    encoder = info.encoder
    checksum = encoder.checksum or "unknown"
    return f"{info.vectors} of {encoder.name} ({encoder.dimension} dimensions, checksum {checksum})"


def _json(info: Info) -> dict[str, Any]:
    return {**asdict(info), "capabilities": sorted(info.capabilities)}
