"""Collections on a server: an alias NAME, behind it an index ``NAME-YYYYMMDDHHMMSS-xxxx`` that is one version of it.

A version's passages never change. A new version is filled beside it and put in place by one call; then the old one is
removed. A load that was killed leaves its index, with which the next load of the same collection goes on; whatever else
was left is removed by the next writer.
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
from convqa.stores.elasticsearch.options import Options, changes
from convqa.stores.elasticsearch.reading import Reader
from convqa.stores.elasticsearch.schema import VERSION, Meta, Version, mappings, meta_of, settings
from convqa.stores.elasticsearch.store import Building, Elasticsearch
from convqa.stores.elasticsearch.target import Target
from convqa.stores.elasticsearch.writer import Build
from convqa.stores.integrity import Check
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

_LONGEST_NAME = 220
"""Bytes: Elasticsearch takes 255, of which the version and the vectors' index need some."""

_ALL = "*.mappings,*.settings.index"


def key(address: Address) -> str:
    """The server and the index; for an index of others also what is told about it."""
    told = address.fields, address.vector, address.encoder
    return Target.parse(address.url).url + (f" {told!r} {address.language}" if any(told) else "")


def identity(address: Address) -> Hashable | None:
    """A stamp that changes with every commit, and when the alias means another index; None where there is nothing."""
    target = Target.parse(address.url)
    found = look_up(target)
    if found is None:
        return None
    return Version.of(*found).mark if is_own(found[1]) else _checksum(target, found[0])


def open_collection(address: Address) -> Elasticsearch | Foreign:
    """:raises InputError: if there is nothing, or it cannot be searched as passages.
    :raises StoreUnavailable, StoreDamaged: see :class:`Elasticsearch`.
    """
    target = Target.parse(address.url)
    found = look_up(target, _ALL)
    if found is None:
        raise missing(target)
    name, index = found
    if is_own(index):
        refuse_fields(address)
        version = Version.of(name, index)
        if not version.meta.ready:
            raise InputError(
                f"index {name} at {target.http} is not whole: it is being made, or its making was cut off. Run the "
                "same convqa index again, which goes on with it."
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
    """A new collection; it is behind its alias, whole, when the block ends well.

    A mistake in what is indexed leaves nothing. What stops a run (a server that does not answer, a kill) leaves an
    unfinished index, with which the next ``create`` of the same collection, language and settings goes on: give it the
    same passages in the same order, and those that are there are not sent again.

    :param settings: ``shards``, ``replicas``, ``k1``, ``b``, and ``threads`` that send.
    :raises InputError: if there is a collection already and it is not to be replaced, or something that is none; for
        an unknown setting.
    :raises WorkError: if another process is writing to it, or the server has not what was sent.
    """
    target, options = Target.parse(address.url), Options.of(address.url, settings)
    refuse_fields(address)
    if target.index.endswith(lock_of("")):
        raise InputError(f"collection {target}: a name that ends with {lock_of('')} is a lock's; give another name.")
    if len(target.index.encode()) > _LONGEST_NAME:
        raise InputError(f"collection {target}: the name is too long; wanted: at most {_LONGEST_NAME} bytes.")
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
    """Remove a collection, its vectors, and what loads left; also where a load that was cut off is all there is.

    :raises InputError: if there is none, or the index was not made by convqa.
    :raises WorkError: if another process is writing to it.
    """
    target = Target.parse(address.url)
    if not (_versions(target) or indices_like(target, lock_of(target.index))):
        raise InputError(f"there is no collection {target}. See convqa collections list.")
    with Lock(target) as writing:
        for name in _versions(target):
            Index(target, name).delete()
        writing.remove()


def change(address: Address, settings: Mapping[str, object]) -> None:
    """Change k1, b or the number of replicas. Another k1 or b makes a new version, which takes the old one's place.

    :raises InputError: for another setting, or if there is no collection that convqa made.
    :raises WorkError: if another process is writing to it.
    """
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
    """Read every passage, and compare it with the digest beside it, and all with the collection's checksum.

    :raises InputError: if there is none, or convqa did not make it.
    :raises RunError: if it is replaced meanwhile.
    """
    store = open_collection(address)
    if isinstance(store, Foreign):
        raise InputError(f"collection {redact(address.url)} was not made by convqa: it has no checksums.")
    return store.compare()


def find(address: Address) -> list[str]:
    """The URLs of the collections on a server; of an address with an index, that one alone."""
    target = Target.parse(address.url, needs_index=False)
    found = {
        alias
        for name, index in indices_like(target, target.index or "*").items()
        for alias in index.get("aliases", {})
        if is_own(index) and is_version(name, alias)
    }
    return [Target(target.host, target.port, target.https, target.user, alias).url for alias in sorted(found)]


def take_over(address: Address) -> None:
    """Free a collection from the lock of another machine, whose process is gone."""
    lock.take_over(Target.parse(address.url))


def _own(target: Target) -> tuple[str, Mapping[str, Any]] | None:
    """Return the index of a collection that convqa made; None where there is nothing. Another's index is refused."""
    found = look_up(target)
    if found is not None and not is_own(found[1]):
        raise InputError(f"index {found[0]} at {target.http} was not made by convqa: it is left alone.")
    if found is not None and not is_version(found[0], target.index):
        raise InputError(f"{target.index!r} at {target.http} is an index by its own name, no collection: left alone.")
    return found


def _existing(target: Target) -> tuple[str, Mapping[str, Any]]:
    found = _own(target)
    if found is None:
        raise InputError(f"there is no collection {target}. See convqa collections list.")
    return found


def _replaced(target: Target, replace: bool) -> Index | None:
    """Return the old version whose place a new collection takes, if there is one; refuse if that is to stay."""
    found = _own(target)
    if found is not None and not replace:
        raise InputError(f"collection {target} exists. Give --add to add to it or --replace to build it anew.")
    return found and Index(target, found[0])


def _versions(target: Target) -> list[str]:
    """The index of a collection, if there is one, and those that nobody searches."""
    found = _own(target)
    return [*([] if found is None else [found[0]]), *unfinished(target)]


def _begin(target: Target, wanted: Meta, options: Options) -> tuple[Index, Meta]:
    """The unfinished index to go on with, or a new one; other unfinished ones are removed."""
    chosen: tuple[Index, Meta] | None = None
    for name, found in unfinished(target).items():
        index = Index(target, name)
        meta = _resumable(name, found, wanted, options)
        if meta is not None and chosen is None:
            logger.info("%s: going on with an unfinished load that has %d passages", target, meta.count)
            chosen = index, meta
        else:
            logger.warning("%s: the unfinished index %s of an earlier command is removed", target, name)
            index.delete()
    if chosen is not None:
        return chosen
    index = Index(target)
    index.create(settings(options.shards, options.k1, options.b), mappings(wanted))
    return index, wanted


def _resumable(name: str, found: Mapping[str, Any], wanted: Meta, options: Options) -> Meta | None:
    """The meta of an unfinished index, if what is wanted can go on from it."""
    if meta_of(found).get("version") != VERSION:
        return None
    version = Version.of(name, found)
    meta = version.meta
    have = (version.shards, version.k1, version.b, meta.language, meta.analyzer, meta.ready)
    want = (options.shards, options.k1, options.b, wanted.language, wanted.analyzer, False)
    return meta if have == want and meta.prefix else None


def _checksum(target: Target, name: str) -> str:
    """A stamp that changes whenever an index of others does: of its identity and the last write's number of each shard.

    It names the index's state, not its content: two indexes with the same passages have different ones.
    """
    answer = ask(target, lambda known: known.indices.stats(index=name, metric="docs", level="shards"))
    index = answer["indices"][name]
    written = {
        number: max(copy["seq_no"]["max_seq_no"] for copy in copies)
        for number, copies in sorted(index["shards"].items())
    }
    return blake2b(repr((index["uuid"], written)).encode(), digest_size=16).hexdigest()
