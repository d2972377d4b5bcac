"""Versions of a collection: named, cloned, put in place, removed; each with its vectors."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from convqa.errors import ConvqaError, RunError, WorkError
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.errors import IndexMissing
from convqa.stores.elasticsearch.index import Index, indices_like
from convqa.stores.elasticsearch.lock import Lock
from convqa.stores.elasticsearch.schema import FORMAT, Meta, meta_of, vectors_of
from convqa.stores.elasticsearch.target import Target

_GRACE = 1.0
"""Seconds in which searches that have found an old version may end."""


def new_name(target: Target) -> str:
    """The name of a version: ``NAME-YYYYMMDDHHMMSS-xxxx``."""
    return f"{target.index}-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


def cloned(index: Index, meta: Meta, settings: Mapping[str, Any] | None = None) -> Index:
    """A version like another, with its vectors, that nobody searches yet."""
    clone = index.clone(new_name(index.target), settings)
    if meta.vectors is not None:
        Index(index.target, vectors_of(index.name)).clone(vectors_of(clone.name))
    return clone


def put(index: Index, old: Index | None, replicas: int, lock: Lock) -> None:
    """Put a whole version behind its collection's alias, in the place of an old one, by one call; then remove that.

    :raises WorkError: if the lock was taken over.
    """
    target = index.target
    if replicas:
        configure(index, {"number_of_replicas": replicas})
    actions: list[dict[str, Any]] = [{"add": {"index": index.name, "alias": target.index}}]
    if old is not None:
        # Without must_exist the server adds the alias even where the old version has lost it.
        actions.append({"remove": {"index": old.name, "alias": target.index, "must_exist": True}})
    lock.check()
    try:
        ask(target, lambda known: known.indices.update_aliases(actions=actions))
    except IndexMissing as error:
        raise WorkError(f"collection {target} was taken over by another process: nothing was changed.") from error
    if old is not None:
        time.sleep(_GRACE)
        # What stays is removed by the next writer.
        with suppress(ConvqaError, RunError):
            remove(old)


def configure(index: Index, settings: Mapping[str, Any]) -> None:
    """Settings of a version and its vectors."""
    name = f"{index.name},{vectors_of(index.name)}"
    ask(
        index.target,
        lambda known: known.indices.put_settings(index=name, settings=settings, ignore_unavailable=True),
    )


def remove(index: Index) -> None:
    """Remove a version and its vectors."""
    Index(index.target, f"{index.name},{vectors_of(index.name)}").delete()


def unfinished(target: Target) -> dict[str, Mapping[str, Any]]:
    """The versions of a collection that no alias names, newest first. Only the holder of the lock works on them."""
    found = indices_like(target, f"{target.index}-*")
    return {
        name: found[name]
        for name in sorted(found, reverse=True)
        if is_version(name, target.index) and is_own(found[name]) and not found[name].get("aliases")
    }


def sweep(target: Target) -> None:
    """Remove the versions that killed changes left. A load that was cut off stays, for the next one to go on with."""
    for name, found in unfinished(target).items():
        if meta_of(found).get("ready"):
            remove(Index(target, name))


def is_version(name: str, alias: str) -> bool:
    return re.fullmatch(re.escape(alias) + r"-\d{14}-[0-9a-f]{4}", name) is not None


def is_own(index: Mapping[str, Any]) -> bool:
    return meta_of(index).get("format") == FORMAT
