"""Where passages live. A collection is named by a URL: a folder, or an engine's own scheme."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from convqa.domain import DEFAULT_LANGUAGE
from convqa.errors import InputError, StoreUnavailable, nearest
from convqa.plugins import load, plugins
from convqa.stores.address import SCHEME, Address, address, redact
from convqa.stores.base import Engine, Store, WritableStore
from convqa.stores.integrity import Check
from convqa.validation import expect_type

_ENGINES = {
    "": "convqa.stores.embedded.engine",
    "elasticsearch": "convqa.stores.elasticsearch.engine",
    "elasticsearch+https": "convqa.stores.elasticsearch.engine",
    "anserini": "convqa.stores.anserini.engine",
}
"""Scheme -> module, loaded when the scheme is first used. A folder has no scheme."""

_LACKING = {
    "create": "it is only read. Give another place for a collection of convqa's",
    "delete": "it is only read: nothing is deleted",
    "change": "it has no settings: k1 and b are given at search time",
    "check": "its engine keeps no checksums that could be compared",
    "take_over": "there is no lock to take over, since it ends with the process that holds it. Leave --take-over out",
}
"""What is said where an engine has no such function."""

_FUNCTIONS = [name for name in vars(Engine) if not name.startswith("_") and name not in _LACKING]

GROUP = "convqa.stores"
"""The entry points of other packages' engines: scheme = module."""

_opened: dict[str, tuple[Hashable, Store]] = {}
"""The collections that this process has opened last: (identity, store) by the engine's key."""
_MOST_OPENED = 16
"""An open collection holds a dozen file descriptors; one that is used goes on whether it is kept here or not."""
_locks: dict[str, threading.Lock] = {}
"""One for each of them: opening one collection does not wait for another."""


def open_store(url: str | Path | None) -> Store:
    """The store at a URL: the same object in the whole process, until the collection changes or the store is closed.

    :param url: a folder, an engine's URL, or a file of ``configs/collections`` by its name or path.
    :raises InputError: if no collection is given, its engine is not known, or there is no collection.
    :raises StoreUnavailable: if there is none now, though this process has opened it before.
    :raises StoreDamaged: if it cannot be read as its manifest says.
    """
    engine, found = _engine(url)
    key = engine.key(found)
    with _locks.setdefault(key, threading.Lock()):
        identity = engine.identity(found)
        before, store = _opened.pop(key, (None, None))
        if store is not None:
            _opened[key] = before, store  # the last again
            if before == identity and not store.closed:
                return store
        try:
            opened = engine.open_collection(found)
        except InputError as error:
            if store is None or engine.identity(found) is not None:
                raise
            raise StoreUnavailable(
                f"collection {redact(found.url)} was there and is gone. Put it back, or index its passages again."
            ) from error
        _opened[key] = identity, opened
        for oldest in list(_opened)[:-_MOST_OPENED]:
            _opened.pop(oldest, None)
        return opened


def key_of(url: str) -> str:
    """The same string for every URL of the same collection, as far as the URL tells."""
    engine, found = _engine(url)
    return engine.key(found)


def create_store(
    url: str, language: str | None = None, replace: bool = False, settings: Mapping[str, object] | None = None
) -> AbstractContextManager[WritableStore]:
    """A new collection: it is in place, whole, when the block ends well, and not at all when it does not.

    :param language: None = what the collection's file says, else English.
    :param settings: the engine's own, for the index; they come before those of the collection's file.
    :raises InputError: if there is a collection already and it is not to be replaced, or for an unknown setting.
    """
    create, found = _function("create", url)
    return cast(
        AbstractContextManager[WritableStore],
        create(found, language or found.language or DEFAULT_LANGUAGE, replace, {**found.settings, **(settings or {})}),
    )


def delete_store(url: str) -> None:
    """Remove a collection for good.

    :raises InputError: if there is none.
    """
    delete, found = _function("delete", url)
    delete(found)
    if opened := _opened.pop(_engine(url)[0].key(found), None):
        opened[1].close()


def change_store(url: str, settings: Mapping[str, object]) -> None:
    """Change settings of a collection that exists.

    :raises InputError: if there is none, or for a setting that its engine cannot change.
    """
    change, found = _function("change", url)
    change(found, settings)


def check_store(url: str) -> Check:
    """Compare what a collection holds with the checksums that were written with it.

    :raises InputError: if there is none, it may not be read, or its engine keeps no checksums.
    """
    check, found = _function("check", url)
    return cast(Check, check(found))


def take_over(url: str) -> None:
    """Free a collection from the lock of another machine, whose process is gone.

    :raises InputError: for an engine whose locks end with their process.
    """
    free, found = _function("take_over", url)
    free(found)


def find_stores(place: str) -> list[str]:
    """The URLs of the collections in a place: a folder, or an engine's server."""
    engine, found = _engine(place)
    # A folder may hold collections of both of our engines whose places are folders.
    engines = [engine] if SCHEME.match(found.url) else [_built_in(""), _built_in("anserini")]
    return sorted({url for engine in engines for url in engine.find(found)})


def exists(url: str) -> bool:
    """Whether there is a collection at a URL."""
    engine, found = _engine(url)
    return engine.identity(found) is not None


def is_collection(folder: Path) -> bool:
    """Whether a folder looks like a collection of the embedded engine; whether it is whole, :func:`open_store` says."""
    from convqa.stores.embedded.engine import is_collection as has_manifest

    return has_manifest(folder)


def _engine_of(folder: Path) -> str:
    """The engine of a folder without a scheme: ours, unless Lucene's files are in it."""
    from convqa.stores.anserini.index import is_index

    return "anserini" if is_index(folder) and not is_collection(folder) else ""


def _engine(url: str | Path | None) -> tuple[Engine, Address]:
    if not url:
        raise InputError("no collection is given. Give --collection with a folder made by convqa index, or a URL.")
    expect_type("collection", url, (str, Path), "a folder or a URL")
    found = address(str(url))
    scheme = SCHEME.match(found.url)
    name = scheme[1] if scheme else _engine_of(Path(found.url))
    engine = _load(name)
    if engine is None:
        raise InputError(
            f"collection {redact(found.url)}: there is no engine {name!r}. Wanted: a folder made by convqa index, "
            "elasticsearch://HOST:PORT/INDEX, elasticsearch+https://HOST:PORT/INDEX, anserini:FOLDER, or the URL of an "
            f"engine that an installed package offers.{nearest(name, filter(None, [*_ENGINES, *plugins(GROUP)]))}"
        )
    return engine, found


def _function(name: str, url: str) -> tuple[Callable[..., object], Address]:
    """A function that not every engine has. :raises InputError: saying so."""
    engine, found = _engine(url)
    function = getattr(engine, name, None)
    if function is None:
        raise InputError(f"collection {redact(found.url)}: {_LACKING[name]}.")
    return function, found


def _load(scheme: str) -> Engine | None:
    """The engine of a scheme: ours, else another package's."""
    if scheme in _ENGINES:
        return _built_in(scheme)
    point = plugins(GROUP).get(scheme)
    if point is None:
        return None
    engine = load(point)
    if lacking := [name for name in _FUNCTIONS if not callable(getattr(engine, name, None))]:
        missing = ", ".join(lacking)
        raise InputError(f"{scheme}: {point.value} (an entry point of {GROUP}) lacks {missing}. Fix its package.")
    return cast(Engine, engine)


def _built_in(scheme: str) -> Engine:
    return cast(Engine, importlib.import_module(_ENGINES[scheme]))
