"""Collections on a server: an alias NAME of an index ``NAME-YYYYMMDDHHMMSS-xxxx``, one version of the collection.

The passages of a version never change. A new version is filled separately, the alias is switched to it in one call, and
the old one is removed. The next load of a collection resumes the index of a killed one; the next writer removes any
other leftovers.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, Field

from convqa.domain import DEFAULT_LANGUAGE
from convqa.errors import InputError
from convqa.stores.address import Address, redact
from convqa.stores.base import Check, Encoder, WritableStore
from convqa.stores.checks import refuse_fields
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.errors import missing
from convqa.stores.elasticsearch.foreign import Foreign
from convqa.stores.elasticsearch.index import Index, indices_like, is_own, is_version, look_up, put, unfinished
from convqa.stores.elasticsearch.layout import Layout
from convqa.stores.elasticsearch.lock import Lock
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import VERSION, Meta, Version, mappings, meta_of, settings
from convqa.stores.elasticsearch.store import Building, Elasticsearch
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.writer import THREADS, Build
from convqa.text.analysis import analyzer
from convqa.validation import read_as

logger = logging.getLogger(__name__)

_LONGEST_NAME = 220
"""Bytes. Elasticsearch allows 255, and the suffixes of versions and vectors need some."""

_ALL = "*.mappings,*.settings.index"


class IndexSettings(BaseModel, strict=True, extra="forbid", frozen=True):
    """Settings of a new index. Replicas are added when it is complete; ``threads`` send passages."""

    replicas: int = Field(0, ge=0, le=100)
    k1: float = Field(0.82, ge=0, allow_inf_nan=False)
    b: float = Field(0.68, ge=0, le=1)
    shards: int = Field(1, ge=1, le=1024)
    threads: int = Field(THREADS, ge=1, le=16)


def identity(address: Address) -> Hashable | None:
    """Return a stamp that changes with every commit and switch of the alias; None for a missing collection."""
    target = Target.parse(address.url)
    index = look_up(target)
    if index is None:
        return None
    return Version.of(*index).mark if is_own(index[1]) else _checksum(target, index[0])


def open_collection(address: Address) -> Elasticsearch | Foreign:
    """:raises InputError: if the index is missing or incomplete, or its fields are unknown."""
    target = Target.parse(address.url)
    named = look_up(target, _ALL)
    if named is None:
        raise missing(target)
    name, index = named
    if is_own(index):
        refuse_fields(address)
        version = Version.of(name, index)
        if not version.meta.ready:
            raise InputError(
                f"index {name} at {target.http} is incomplete: it is being made, or its load was interrupted. Run the "
                "same convqa index again to resume it."
            )
        return Elasticsearch(target, version)
    shards = int(index["settings"]["index"]["number_of_shards"])
    layout = Layout(address.fields, index, str(target), address.vector)
    language, its = address.language or DEFAULT_LANGUAGE, Index(target, name)
    reader, vectors = Reader(target, name, shards > 1), layout.vector
    made_by = Encoder(address.encoder, "", vectors.dimension) if vectors else None
    counts = its.count(), its.count({"exists": {"field": vectors.name}}) if vectors else 0
    return Foreign(reader, layout, language, counts, _checksum(target, name), made_by)


@contextmanager
def create(
    address: Address, language: str, replace: bool = False, settings: Mapping[str, object] | None = None
) -> Iterator[WritableStore]:
    """Make a new collection, which becomes visible when the block ends without an error.

    An error in the input leaves nothing. A server that does not answer, or a kill, leaves an unfinished index. The next
    ``create`` with the same language and settings resumes it, if it gets the same passages in the same order.

    :param settings: ``shards``, ``replicas``, ``k1``, ``b``, and ``threads`` that send.
    :raises InputError: for an existing collection without ``replace``, a foreign index, or an unknown setting.
    :raises WorkError: if another process is writing to it, or the server lacks passages that were sent.
    """
    target, place = Target.parse(address.url), f"collection {redact(address.url)}: settings"
    known = f"The settings of an Elasticsearch index are {', '.join(IndexSettings.model_fields)}."
    options = read_as(IndexSettings, dict(settings or {}), place, known)
    refuse_fields(address)
    if len(target.index.encode()) > _LONGEST_NAME:
        raise InputError(f"collection {target}: the name is too long; expected at most {_LONGEST_NAME} bytes.")
    wanted = Meta(language, analyzer(language).name)
    _replaced(target, replace)
    with Lock(target) as lock:
        old = _replaced(target, replace)
        index, meta = _begin(target, wanted, options)
        build = Build(index, meta, options.threads)
        try:
            yield Building(target, build, Version(index.name, meta, options.shards, 0, options.k1, options.b))
            build.finish()
        except Exception:
            build.index.delete()
            raise
        finally:
            build.close()
        put(build.index, old, options.replicas, lock)


def delete(address: Address) -> None:
    """Delete a collection with its vectors and unfinished versions."""
    target = Target.parse(address.url)
    with Lock(target):
        index = _own(target)
        names = [*([] if index is None else [index[0]]), *unfinished(target)]
        if not names:
            raise InputError(f"collection {target} does not exist. See convqa collections list SERVER.")
        for name in names:
            Index(target, name).delete()


def check(address: Address) -> Check:
    """Compare the digests of all passages with the collection's checksum."""
    store = open_collection(address)
    if isinstance(store, Foreign):
        raise InputError(f"collection {redact(address.url)} was not made by convqa: it has no checksums.")
    return store.compare()


def find(address: Address) -> list[str]:
    target = Target.parse(address.url, needs_index=False)
    aliases = {
        alias
        for name, index in indices_like(target, target.index or "*").items()
        for alias in index.get("aliases", {})
        if is_own(index) and is_version(name, alias)
    }
    return [Target(target.host, target.port, target.https, target.user, alias).url for alias in sorted(aliases)]


def _own(target: Target) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and record of a collection's index, None for a missing one; refuse foreign indexes."""
    index = look_up(target)
    if index is not None and not is_own(index[1]):
        raise InputError(f"index {index[0]} at {target.http} was not made by convqa: it is left alone.")
    if index is not None and not is_version(index[0], target.index):
        raise InputError(f"{target.index!r} at {target.http} is an index, not the alias of a collection: left alone.")
    return index


def _replaced(target: Target, replace: bool) -> Index | None:
    """Return the old version that a new collection replaces, or None; refuse without ``replace``."""
    index = _own(target)
    if index is not None and not replace:
        raise InputError(f"collection {target} exists. Give --add to add to it or --replace to build it anew.")
    return index and Index(target, index[0])


def _begin(target: Target, wanted: Meta, options: IndexSettings) -> tuple[Index, Meta]:
    """Return the unfinished index to resume, or a new one; remove other unfinished ones."""
    chosen: tuple[Index, Meta] | None = None
    for name, record in unfinished(target).items():
        index = Index(target, name)
        meta = None if chosen else _resumable(index, record, wanted, options)
        if meta is not None:
            logger.info("%s: resuming an unfinished load with %d passages", target, meta.count)
            chosen = index, meta
        else:
            logger.warning("%s: removing the unfinished index %s of an earlier command", target, name)
            index.delete()
    if chosen is not None:
        return chosen
    index = Index(target)
    index.create(settings(options.shards, options.k1, options.b), mappings(wanted))
    return index, wanted


def _resumable(index: Index, record: Mapping[str, Any], wanted: Meta, options: IndexSettings) -> Meta | None:
    """Return the metadata of an unfinished index, cut to its complete batches.

    None if a load with these settings cannot resume it.
    """
    if meta_of(record).get("version") != VERSION:
        return None
    version = Version.of(index.name, record)
    meta = version.meta
    have = (version.shards, version.k1, version.b, meta.language, meta.analyzer, meta.ready)
    want = (options.shards, options.k1, options.b, wanted.language, wanted.analyzer, False)
    if have != want or not meta.places:
        return None
    index.remove_after(meta.places)
    return meta if index.count() == meta.count else None


def _checksum(target: Target, name: str) -> str:
    """Return a stamp of a foreign index's state: its UUID and the last sequence number of each shard.

    Two indexes with the same passages have different stamps.
    """
    answer = ask(target, lambda es: es.indices.stats(index=name, metric="docs", level="shards"))
    index = answer["indices"][name]
    written = {
        number: max(copy["seq_no"]["max_seq_no"] for copy in copies)
        for number, copies in sorted(index["shards"].items())
    }
    return blake2b(repr((index["uuid"], written)).encode(), digest_size=16).hexdigest()
