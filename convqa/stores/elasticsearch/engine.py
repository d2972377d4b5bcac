"""Collections on a server: an alias NAME of an index ``NAME-YYYYMMDDHHMMSS-xxxx``, one version of the collection.

The passages of a version never change. A new version is filled separately, the alias is switched to it in one call, and
the old one is removed. The next writer removes what a killed one left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager

from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.stores.address import Address, redact
from convqa.stores.base import WritableStore
from convqa.stores.elasticsearch.index import (
    ServerIndex,
    indices_like,
    is_own,
    is_version,
    look_up,
    put_in_place,
    unfinished,
)
from convqa.stores.elasticsearch.lock import CollectionLock
from convqa.stores.elasticsearch.schema import Meta, Version, index_mappings, index_settings
from convqa.stores.elasticsearch.store import ElasticsearchCollection
from convqa.stores.elasticsearch.target import IndexTarget
from convqa.stores.elasticsearch.writer import BulkWriter
from convqa.text.analysis import analyzer
from convqa.validation import read_as


class IndexSettings(BaseModel, strict=True, extra="forbid", frozen=True):
    """Settings of a new index. Replicas are added when it is complete."""

    replicas: int = Field(0, ge=0, le=100)
    k1: float = Field(0.82, ge=0, allow_inf_nan=False)
    b: float = Field(0.68, ge=0, le=1)
    shards: int = Field(1, ge=1, le=1024)


def identity(address: Address) -> Hashable | None:
    """Return a stamp that changes with every commit and switch of the alias; None for a missing collection."""
    index = look_up(IndexTarget.parse(address.url))
    return Version.of(*index).stamp if index is not None and is_own(index[1]) else None


def open_collection(address: Address) -> ElasticsearchCollection:
    """:raises InputError: if the index is missing, incomplete, or was not made by convqa."""
    target = IndexTarget.parse(address.url)
    named = look_up(target)
    if named is None:
        raise InputError(
            f"there is no index {target.index!r} at {target.http}. Make it with convqa index SOURCES --collection "
            f"{target}, or see convqa collections list for existing ones."
        )
    name, index = named
    if not is_own(index):
        raise InputError(
            f"index {name} at {target.http} was not made by convqa. Write its documents to a file of JSON lines, and "
            "make a collection of it with convqa index FILE --collection NAME."
        )
    version = Version.of(name, index)
    if not version.meta.ready:
        raise InputError(
            f"index {name} at {target.http} is incomplete: it is being made, or its load was killed. Give the same "
            "convqa index again."
        )
    return ElasticsearchCollection(target, version)


@contextmanager
def create(
    address: Address,
    language: str,
    replace: bool = False,
    settings: Mapping[str, object] | None = None,
) -> Iterator[WritableStore]:
    """Make a new collection, which becomes visible when the block ends without an error.

    An error leaves nothing. A kill leaves an index without an alias, which the next writer removes, and the lock.

    :param settings: ``shards``, ``replicas``, ``k1`` and ``b``.
    :raises InputError: for an existing collection without ``replace``, an index that convqa did not make, or an unknown
        setting.
    :raises WorkError: if another process is writing to it, or the server lacks passages that were sent.
    """
    target = IndexTarget.parse(address.url)
    known = f"The settings of an Elasticsearch index are {', '.join(IndexSettings.model_fields)}."
    options = read_as(IndexSettings, dict(settings or {}), f"collection {redact(address.url)}: settings", known)
    meta = Meta(language, analyzer(language).name)
    with CollectionLock(target) as lock:
        old = _own(target)
        if old is not None and not replace:
            raise InputError(f"collection {target} exists. Give --add to add to it or --replace to build it anew.")
        for leftover in unfinished(target):
            leftover.delete()
        index = ServerIndex(target)
        index.create(index_settings(options.shards, options.k1, options.b), index_mappings(meta))
        version = Version(index.name, meta, options.shards, options.replicas, options.k1, options.b)
        writer = BulkWriter(index, version)
        try:
            yield ElasticsearchCollection(target, version, writer)
            writer.finish()
        except BaseException:
            writer.close()
            raise
        put_in_place(writer.index, old, options.replicas, lock)


def delete(address: Address) -> None:
    """Delete a collection with its vectors and unfinished versions."""
    target = IndexTarget.parse(address.url)
    with CollectionLock(target):
        index = _own(target)
        indexes = unfinished(target)
        if index is not None:
            indexes.append(index)
        if not indexes:
            raise InputError(f"collection {target} does not exist. See convqa collections list SERVER.")
        for each in indexes:
            each.delete()


def check(address: Address) -> list[str]:
    return [index.name for index in unfinished(IndexTarget.parse(address.url))]


def find(address: Address) -> list[str]:
    target = IndexTarget.parse(address.url, needs_index=False)
    aliases = set()
    for name, index in indices_like(target, target.index or "*").items():
        if is_own(index):
            aliases |= {alias for alias in index.get("aliases", {}) if is_version(name, alias)}
    return [dataclasses.replace(target, index=alias).url for alias in sorted(aliases)]


def _own(target: IndexTarget) -> ServerIndex | None:
    """Return a collection's index, None for a missing one; refuse those of other software."""
    named = look_up(target)
    if named is None:
        return None
    name, index = named
    if not is_own(index):
        raise InputError(f"index {name} at {target.http} was not made by convqa: it is left alone.")
    if not is_version(name, target.index):
        raise InputError(f"{target.index!r} at {target.http} is an index, not the alias of a collection: left alone.")
    return ServerIndex(target, name)
