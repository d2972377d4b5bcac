"""Collections of passages, named by URL: a folder, or an engine's own scheme."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from convqa.domain import DEFAULT_LANGUAGE
from convqa.errors import INDEX_AGAIN, InputError, StoreDamaged, nearest
from convqa.plugins import load, plugins
from convqa.stores.address import SCHEME, Address, address, redact, resolved
from convqa.stores.base import Engine, Store, WritableStore
from convqa.stores.content import checksum, content, digest
from convqa.validation import expect_type

_ENGINES = {
    "": "convqa.stores.embedded.engine",
    "elasticsearch": "convqa.stores.elasticsearch.engine",
    "elasticsearch+https": "convqa.stores.elasticsearch.engine",
    "anserini": "convqa.stores.anserini.engine",
}
"""Scheme -> module, imported on first use. A folder has no scheme."""

GROUP = "convqa.stores"
"""Entry points of engines in other packages: scheme = module."""

_MOST_OPEN = 16
"""Maximum number of collections kept open; each holds a dozen file descriptors."""
_opened: dict[str, tuple[Hashable, Store]] = {}
"""Key -> (identity, store), first opened first."""
_locks: dict[str, threading.Lock] = {}
"""Key -> lock, so that a slow collection does not delay others."""


def open_store(url: str | Path | None) -> Store:
    """Return the store at a URL: one object per process until the collection changes or the store is closed.

    :param url: a folder, an engine's URL, or the name or path of a file of ``configs/collections``.
    :raises InputError: if no collection is given, the engine is unknown, or the collection does not exist.
    :raises StoreDamaged: if its content does not match its manifest.
    """
    engine, location = _locate(url)
    key = resolved(Path.cwd(), location.url)
    with _locks.setdefault(key, threading.Lock()):
        identity = engine.identity(location)
        opened_as, store = _opened.get(key, (None, None))
        if store is None or opened_as != identity or store.closed:
            store = engine.open_collection(location)
            _opened[key] = identity, store
        for oldest in list(_opened)[:-_MOST_OPEN]:
            _opened.pop(oldest, None)
        return store


def key_of(url: str) -> str:
    """Return the collection's URL with an absolute path."""
    return resolved(Path.cwd(), address(url).url)


def create_store(
    url: str, language: str | None = None, replace: bool = False, settings: Mapping[str, object] | None = None
) -> AbstractContextManager[WritableStore]:
    """Create a collection that appears, complete, when the block succeeds, and not at all when it fails.

    :param language: defaults to that of the collection's file, else English.
    :param settings: the engine's settings for the index; they override those of the collection's file.
    :raises InputError: if the collection exists and ``replace`` is false, or for an unknown setting.
    """
    create, location = _writing("create", url)
    language = language or location.language or DEFAULT_LANGUAGE
    return cast(
        AbstractContextManager[WritableStore],
        create(location, language, replace, {**location.settings, **(settings or {})}),
    )


def delete_store(url: str) -> None:
    """Delete a collection permanently.

    :raises InputError: if it does not exist.
    """
    delete, location = _writing("delete", url)
    delete(location)
    if opened := _opened.pop(key_of(url), None):
        opened[1].close()


def check_store(url: str) -> list[str]:
    """Read a whole collection, compare it with its checksums, and return the leftovers of killed loads.

    :raises InputError: if convqa did not make the collection, so that it has no checksum.
    :raises StoreDamaged: if something differs from what was written.
    """
    engine, location = _locate(url)
    store = engine.open_collection(location)
    info = store.info()
    name = f"collection {redact(location.url)}"
    if not isinstance(store, WritableStore):
        raise InputError(f"{name} was not made by convqa: it has no checksum.")
    total = sum(digest(content(passage)) for passage in store.scan())
    if checksum(total) != info.checksum:
        raise StoreDamaged(f"{name} is damaged: its passages do not match its checksum. {INDEX_AGAIN}")
    vectors = info.count - sum(1 for _ in store.without_vectors())
    if vectors != info.vectors:
        raise StoreDamaged(
            f"{name} is damaged: expected vectors of {info.vectors} passages, found {vectors}. {INDEX_AGAIN}"
        )
    check = getattr(engine, "check", None)
    return check(location) if check else []


def find_stores(place: str) -> list[str]:
    """Return the URLs of the collections in a folder or on a server."""
    engine, location = _locate(place)
    # A folder may hold collections of both engines that work on folders.
    engines = [engine] if SCHEME.match(location.url) else [_load(""), _load("anserini")]
    return sorted({url for engine in engines if engine for url in engine.find(location)})


def exists(url: str) -> bool:
    engine, location = _locate(url)
    return engine.identity(location) is not None


def is_collection(folder: Path) -> bool:
    """Return whether a folder looks like a collection of the embedded engine; :func:`open_store` validates it."""
    from convqa.stores.embedded import engine

    return engine.is_collection(folder)


def _locate(url: str | Path | None) -> tuple[Engine, Address]:
    from convqa.stores.anserini.index import is_index

    if not url:
        raise InputError(
            "no collection given. Give --collection with a folder made by convqa index, or a URL. For ask, chat, serve "
            "and mcp, the environment variable CONVQA_COLLECTION can name it."
        )
    expect_type("collection", url, (str, Path), "a folder or a URL")
    location = address(str(url))
    folder = Path(location.url)
    if scheme := SCHEME.match(location.url):
        name = scheme[1]
    else:
        name = "anserini" if is_index(folder) and not is_collection(folder) else ""
    engine = _load(name)
    if engine is None:
        raise InputError(
            f"collection {redact(location.url)}: unknown engine {name!r}. Expected a folder made by convqa index, "
            "elasticsearch://HOST:PORT/INDEX, elasticsearch+https://HOST:PORT/INDEX, anserini:FOLDER, or the URL of an "
            f"engine of an installed package.{nearest(name, filter(None, [*_ENGINES, *plugins(GROUP)]))}"
        )
    return engine, location


def _writing(name: str, url: str) -> tuple[Callable[..., object], Address]:
    """Return a function that read-only engines lack, and the collection's address.

    :raises InputError: if the engine is read-only.
    """
    engine, location = _locate(url)
    function = getattr(engine, name, None)
    if function is None:
        raise InputError(f"collection {redact(location.url)}: its engine is read-only. Choose another URL.")
    return function, location


def _load(scheme: str) -> Engine | None:
    if scheme in _ENGINES:
        return cast(Engine, importlib.import_module(_ENGINES[scheme]))
    point = plugins(GROUP).get(scheme)
    if point is None:
        return None
    return cast(Engine, load(point))
