"""``convqa collections``: list, show, check and delete collections."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from convqa.cli.app import group
from convqa.cli.options import Json, print_json
from convqa.errors import InputError, StoreDamaged, StoreUnavailable

if TYPE_CHECKING:
    from convqa.stores.base import Info

_MAX_PROBLEMS = 20
"""Problems of a collection to list."""

Collection = Annotated[
    str,
    Argument(metavar="COLLECTION", help="Folder or URL of a collection, or a file or name in configs/collections."),
]
Yes = Annotated[bool, Option("--yes", help="Confirm. Without it, only print what would be done.")]

collections = group("collections", "List, show, check and delete collections.")


@collections("list")
def list_collections(
    place: Annotated[
        str | None, Argument(metavar="PLACE", help="A folder, or a server such as elasticsearch://HOST:9200.")
    ] = None,
    json: Json = False,
) -> None:
    """List collections in a folder or on a server.

    Without PLACE, list those in the current folder and in the cache, and the files in configs/collections.
    """
    groups = _usual_places() if place is None else {_url(place): _entries(place)}
    if json:
        print_json([{"place": title, **entry} for title, entries in groups.items() for entry in entries])
        return
    for title, entries in groups.items():
        typer.echo(f"{title}:")
        for entry in entries:
            source = f", from {entry['source']}" if entry.get("source") else ""
            typer.echo(f"  {entry['name']}  {_summary(entry)}{source}")
        if not entries:
            typer.echo("  none")


@collections("show")
def show_collection(collection: Collection, json: Json = False) -> None:
    """Show details of a collection."""
    from convqa.stores import open_store

    info = open_store(collection).info()
    if json:
        print_json({"url": _url(collection), **_to_json(info)})
        return
    typer.echo(f"{'collection':<12}{_url(collection)}")
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
        print_json({"url": _url(collection), "damaged": bool(report.problems), **asdict(report)})
    else:
        typer.echo(f"{_url(collection)}: {'damaged' if report.problems else 'ok'} ({report.compared})")
        for problem in report.problems[:_MAX_PROBLEMS]:
            typer.echo(f"  {problem}")
        if len(report.problems) > _MAX_PROBLEMS:
            typer.echo(f"  and {len(report.problems) - _MAX_PROBLEMS} more: --json lists them")
        if report.unchecked:
            typer.echo(f"  not checked: {report.unchecked}")
    if report.problems:
        raise StoreDamaged(
            f"collection {_url(collection)} is damaged. Index its passages again with --replace, or restore a copy."
        )


@collections("delete")
def delete_collection(collection: Collection, yes: Yes = False, json: Json = False) -> None:
    """Permanently delete a collection."""
    from convqa.stores import delete_store, open_store

    url = _url(collection)
    if not yes:
        try:
            summary = _summary(_to_json(open_store(collection).info()))
        except StoreDamaged as error:
            summary = f"damaged: {error}"
        raise InputError(f"this would delete {url} ({summary}) permanently. Add --yes to confirm.")
    link = Path(url)
    target = f", and {link.resolve()}, to which it links" if link.is_symlink() else ""
    delete_store(collection)
    _print(json, collection, {"deleted": True}, f"deleted{target}")


def _print(json: bool, collection: str, data: dict[str, Any], text: str) -> None:
    if json:
        print_json({"url": _url(collection), **data})
    else:
        typer.echo(f"{_url(collection)}: {text}")


def _usual_places() -> dict[str, list[dict[str, Any]]]:
    """List the collections of this folder and the cache, and the shipped files without opening their collections."""
    from convqa.places import cache_folder
    from convqa.stores.address import shipped_names

    cache = cache_folder() / "collections"
    shipped = [{"name": name, "url": _url(name)} for name in shipped_names()]
    return {
        f"this folder ({Path.cwd()})": _entries("."),
        f"the cache ({cache})": _entries(str(cache)) if cache.is_dir() else [],
        "configs/collections (availability not checked)": shipped,
    }


def _entries(place: str) -> list[dict[str, Any]]:
    """List the collections of a place. One that cannot be opened is listed with the reason."""
    from convqa.stores import find_stores, open_store

    entries = []
    for url in find_stores(place):
        try:
            details = _to_json(open_store(url).info())
        except (InputError, StoreDamaged, StoreUnavailable) as error:
            details = {"problem": str(error)}
        entries.append({"name": _url(url), "url": _url(url), **details})
    return entries


def _summary(entry: dict[str, Any]) -> str:
    """Describe an entry of a list: its problem, its size, or at least its URL."""
    if "problem" in entry:
        return str(entry["problem"])
    if "count" in entry:
        return f"{entry['count']} passages, {entry['language']}, {entry['engine']}"
    return str(entry["url"])


def _url(collection: str) -> str:
    """Return the URL behind a name, without credentials."""
    from convqa.stores.address import address, redact

    return redact(address(collection).url)


def _lines(info: Info) -> dict[str, object]:
    free = "set when searching" if {"k1", "b"} <= info.capabilities else "not known"
    return {
        "engine": info.engine,
        "passages": info.count,
        "language": info.language,
        "analyzer": info.analyzer,
        "fields": ", ".join(info.fields),
        "checksum": info.checksum,
        "vectors": _vectors(info),
        "k1": free if info.k1 is None else f"{info.k1} (fixed)",
        "b": free if info.b is None else f"{info.b} (fixed)",
        "can": ", ".join(sorted(info.capabilities)) or "search with its own settings only",
    }


def _vectors(info: Info) -> str:
    encoder = info.encoder
    if encoder is None:
        return "none"
    checksum = encoder.checksum or "unknown"
    return f"{info.vectors} of {encoder.name} ({encoder.dimension} dimensions, checksum {checksum})"


def _to_json(info: Info) -> dict[str, Any]:
    return {**asdict(info), "capabilities": sorted(info.capabilities)}
