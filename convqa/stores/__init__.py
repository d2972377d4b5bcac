"""Where passages live. A collection is named by a URL: a folder, or an engine's own scheme."""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Hashable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from convqa.errors import InputError
from convqa.stores.base import Store, WritableStore

_ENGINES = {"": "convqa.stores.embedded"}
"""Scheme -> module, loaded when the scheme is first used. A folder has no scheme."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):")

_opened: dict[str, tuple[Hashable, Store]] = {}
_opening = threading.Lock()


def open_store(url: str | None) -> Store:
    """The store at a URL: the same object in the whole process, until the collection changes.

    :raises InputError: if no collection is given, its engine is not known, or there is no collection.
    :raises StoreDamaged: if it cannot be read as its manifest says.
    """
    engine, place = _engine(url)
    key = str(place.absolute())
    found = _opened.get(key)
    identity = engine.identity(place)
    if found is not None and found[0] == identity:
        return found[1]
    with _opening:
        found = _opened.get(key)
        if found is None or found[0] != identity:
            found = _opened[key] = (identity, engine.open_collection(place))
        return found[1]


def create_store(url: str, language: str, replace: bool = False) -> AbstractContextManager[WritableStore]:
    """A new collection: it is in place, whole, when the block ends well, and not at all when it does not.

    :raises InputError: if there is a collection already and it is not to be replaced.
    """
    engine, place = _engine(url)
    made: AbstractContextManager[WritableStore] = engine.create(place, language, replace)
    return made


def exists(url: str) -> bool:
    """Whether there is a collection at a URL."""
    engine, place = _engine(url)
    return engine.identity(place) is not None


def is_collection(folder: Path) -> bool:
    """Whether a folder looks like a collection of the embedded engine; whether it is whole, :func:`open_store` says."""
    engine, place = _engine(str(folder.absolute()))
    return bool(engine.is_collection(place))


def _engine(url: str | None) -> tuple[Any, Path]:
    if not url:
        raise InputError("no collection is given. Give --collection with a folder made by convqa index.")
    scheme = _SCHEME.match(url)
    module = _ENGINES.get(scheme[1] if scheme else "")
    if module is None:
        raise InputError(
            f"collection {url!r}: this version has no engine for {scheme[1] if scheme else ''}: . "
            "Wanted: a folder made by convqa index."
        )
    return importlib.import_module(module), Path(url)
