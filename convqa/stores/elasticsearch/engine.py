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

from convqa.domain import DEFAULT_LANGUAGE
from convqa.errors import InputError
from convqa.stores.address import Address, redact
from convqa.stores.base import Encoder, WritableStore
from convqa.stores.checks import refuse_fields
from convqa.stores.elasticsearch import lock
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.errors import missing
from convqa.stores.elasticsearch.foreign import Foreign
from convqa.stores.elasticsearch.index import Index, indices_like, is_own, is_version, look_up, put, sweep, unfinished
from convqa.stores.elasticsearch.layout import Layout
from convqa.stores.elasticsearch.lock import Lock, lock_of
from convqa.stores.elasticsearch.options import IndexSettings, changes
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import VERSION, Meta, Version, mappings, meta_of, settings
from convqa.stores.elasticsearch.store import Building, Elasticsearch
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.writer import Build
from convqa.stores.integrity import Check
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

_LONGEST_NAME = 220
"""Bytes. Elasticsearch allows 255, and the suffixes of versions and vectors need some."""

_ALL = "*.mappings,*.settings.index"


def key(address: Address) -> str:
    """Return the server and the index; for a foreign index also its fields, encoder and language."""
    foreign = address.fields, address.vector, address.encoder
    return Target.parse(address.url).url + (f" {foreign!r} {address.language}" if any(foreign) else "")


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
    target, options = Target.parse(address.url), IndexSettings.of(address.url, settings)
    refuse_fields(address)
    if target.index.endswith(lock_of("")):
        raise InputError(f"collection {target}: names that end with {lock_of('')} are reserved; choose another.")
    if len(target.index.encode()) > _LONGEST_NAME:
        raise InputError(f"collection {target}: the name is too long; expected at most {_LONGEST_NAME} bytes.")
    wanted = Meta(language, analyzer(language).name)
    _replaced(target, replace)
    with Lock(target) as writing:
        old = _replaced(target, replace)
        try:
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
        except Exception:
            if old is None:
                writing.remove()
            raise
        put(build.index, old, options.replicas, writing)


def delete(address: Address) -> None:
    """Delete a collection with its vectors and unfinished versions."""
    target = Target.parse(address.url)
    if not (_versions(target) or indices_like(target, lock_of(target.index))):
        raise InputError(f"there is no collection {target}. See convqa collections list.")
    with Lock(target) as writing:
        for name in _versions(target):
            Index(target, name).delete()
        writing.remove()


def change(address: Address, settings: Mapping[str, object]) -> None:
    """Change the number of replicas, or k1 and b, which makes a new version."""
    target, wanted = Target.parse(address.url), changes(address.url, settings)
    _existing(target)
    with Lock(target) as writing:
        version = Version.of(*_existing(target))
        sweep(target)
        index, replicas = Index(target, version.name), wanted.pop("replicas", version.replicas)
        if wanted:
            similarity = {f"index.similarity.default.{name}": value for name, value in wanted.items()}
            copy = index.clone(version.meta.vectors is not None, similarity)
            copy.check_totals(version.meta.count, int(version.meta.checksum, 16))
            put(copy, index, replicas, writing)
        else:
            index.configure({"number_of_replicas": replicas})


def check(address: Address) -> Check:
    """Verify the digest of every passage and the collection's checksum."""
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


def take_over(address: Address) -> None:
    """Remove the lock of a dead process of another machine."""
    lock.take_over(Target.parse(address.url))


def _own(target: Target) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and record of a collection's index, None for a missing one; refuse foreign indexes."""
    index = look_up(target)
    if index is not None and not is_own(index[1]):
        raise InputError(f"index {index[0]} at {target.http} was not made by convqa: it is left alone.")
    if index is not None and not is_version(index[0], target.index):
        raise InputError(f"{target.index!r} at {target.http} is an index, not the alias of a collection: left alone.")
    return index


def _existing(target: Target) -> tuple[str, Mapping[str, Any]]:
    index = _own(target)
    if index is None:
        raise InputError(f"there is no collection {target}. See convqa collections list.")
    return index


def _replaced(target: Target, replace: bool) -> Index | None:
    """Return the old version that a new collection replaces, None if there is none; refuse without ``replace``."""
    index = _own(target)
    if index is not None and not replace:
        raise InputError(f"collection {target} exists. Give --add to add to it or --replace to build it anew.")
    return index and Index(target, index[0])


def _versions(target: Target) -> list[str]:
    index = _own(target)
    return [*([] if index is None else [index[0]]), *unfinished(target)]


def _begin(target: Target, wanted: Meta, options: IndexSettings) -> tuple[Index, Meta]:
    """Return the unfinished index to resume, or a new one; remove other unfinished ones."""
    chosen: tuple[Index, Meta] | None = None
    for name, record in unfinished(target).items():
        index = Index(target, name)
        meta = _resumable(name, record, wanted, options)
        if meta is not None and chosen is None:
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


def _resumable(name: str, index: Mapping[str, Any], wanted: Meta, options: IndexSettings) -> Meta | None:
    """Return the metadata of an unfinished index; None if a load with these settings cannot resume it."""
    if meta_of(index).get("version") != VERSION:
        return None
    version = Version.of(name, index)
    meta = version.meta
    have = (version.shards, version.k1, version.b, meta.language, meta.analyzer, meta.ready)
    want = (options.shards, options.k1, options.b, wanted.language, wanted.analyzer, False)
    return meta if have == want and meta.prefix else None


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
