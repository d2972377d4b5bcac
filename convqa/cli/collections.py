"""``convqa collections``: list, show, check and delete collections."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from convqa.cli.app import group
from convqa.cli.options import Json, print_json
from convqa.errors import InputError, StoreDamaged, StoreUnavailable, counted

if TYPE_CHECKING:
    from convqa.stores.base import Info

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

    Without PLACE, list those in the current folder and in the cache.
    """
    from convqa.places import cache_folder

    places = [place] if place else [".", str(cache_folder() / "collections")]
    listed: list[dict[str, Any]] = []
    for each in places:
        if place is None and not Path(each).is_dir():
            continue
        entries = _entries(each)
        listed += entries
        if not json:
            typer.echo(f"{_url(each)}:")
            for entry in entries:
                source = f", from {entry['source']}" if entry.get("source") else ""
                typer.echo(f"  {entry['name']}  {_summary(entry)}{source}")
            if not entries:
                typer.echo("  none")
    if json:
        print_json(listed)


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
    """Read a collection and compare it with its checksums.

    Exit code 1 if it is damaged.
    """
    from convqa.stores import check_store

    left = check_store(collection)
    if json:
        print_json({"url": _url(collection), "leftovers": left})
        return
    note = f"; left by killed loads, or being written: {', '.join(left)}" if left else ""
    typer.echo(f"{_url(collection)}: ok{note}")


@collections("delete")
def delete_collection(collection: Collection, yes: Yes = False) -> None:
    """Permanently delete a collection."""
    from convqa.stores import delete_store, open_store

    url = _url(collection)
    if not yes:
        try:
            summary = _summary(_to_json(open_store(collection).info()))
        except StoreDamaged as error:
            summary = f"damaged: {error}"
        raise InputError(f"this would delete {url} ({summary}) permanently. Add --yes to confirm.")
    delete_store(collection)
    typer.echo(f"{url}: deleted")


def _entries(place: str) -> list[dict[str, Any]]:
    """List the collections of a place. One that cannot be opened is listed with the reason."""
    from convqa.stores import find_stores, open_store

    entries = []
    for found in find_stores(place):
        url = _url(found)
        try:
            details = _to_json(open_store(found).info())
        except (InputError, StoreDamaged, StoreUnavailable) as error:
            details = {"problem": str(error)}
        entries.append({"name": url.rpartition("/")[2], "url": url, **details})
    return entries


def _summary(entry: dict[str, Any]) -> str:
    """Describe an entry of a list by its problem or its size."""
    if "problem" in entry:
        return str(entry["problem"])
    return f"{counted(entry['count'], 'passages')}, {entry['language']}, {entry['engine']}"


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
