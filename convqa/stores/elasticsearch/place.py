"""Collections on a server: an alias NAME, behind it an index ``NAME-YYYYMMDDHHMMSS-xxxx`` that is one version of it.

A new version is built aside and put in place by one call; then the old one is removed. A build that was killed leaves
its index, which the next build of the same collection goes on with, or removes.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from convqa.errors import InputError
from convqa.stores.address import Address
from convqa.stores.base import WritableStore
from convqa.stores.elasticsearch.build import Build
from convqa.stores.elasticsearch.building import Building
from convqa.stores.elasticsearch.connect import Target, asking
from convqa.stores.elasticsearch.index import Index, indices_like
from convqa.stores.elasticsearch.lease import Lease, lock_of
from convqa.stores.elasticsearch.options import Options, changes
from convqa.stores.elasticsearch.schema import FORMAT, VERSION, Record, mappings, settings, vectors_of
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

_LONGEST_NAME = 220
"""Bytes: Elasticsearch takes 255, of which the version and the vectors beside it need some."""

_GRACE = 1.0
"""Seconds."""


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
    _check_address(address, target)
    wanted = Record(language, analyzer(language).name, options.k1, options.b)
    _check_target(target, replace)
    lease = Lease(target)
    try:
        old = _check_target(target, replace)
        index, record = _begin(target, wanted, options.shards)
        try:
            build = Build(index, record, options.threads, lease.check)
            try:
                yield Building(build, index, record, options.shards)
                lease.check()
                whole = build.finish()
                lease.check()
                _put(index, whole, options.replicas, old)
            finally:
                build.close()
        except Exception:
            _remove(index)
            if old is None:
                lease.remove()
            raise
    finally:
        lease.release()


def delete(address: Address) -> None:
    """Remove a collection, its vectors, and what builds left; also where a build that was cut off is all there is.

    :raises InputError: if there is none, or the index was not made by convqa.
    :raises WorkError: if another process is writing to it.
    """
    target = Target.parse(address.url)
    if not (_versions(target) or Index(target, lock_of(target.index)).exists()):
        raise _missing(target)
    lease = Lease(target)
    try:
        for name in _versions(target):
            _remove(Index(target, name))
        lease.remove()
    finally:
        lease.release()


def change(address: Address, settings: Mapping[str, object]) -> None:
    """Change k1, b or the number of replicas. For k1 and b the index is closed for a moment: searches fail then.

    :raises InputError: for another setting, or if there is no collection that convqa made.
    :raises WorkError: if another process is writing to it.
    """
    target, wanted = Target.parse(address.url), changes(address.url, settings)
    _mine(target)
    lease = Lease(target)
    try:
        name, _ = _mine(target)
        index = Index(target, name)
        if "replicas" in wanted:
            replicas = {"number_of_replicas": wanted.pop("replicas")}
            index.configure(replicas)
            if (vectors := Index(target, vectors_of(name))).exists():
                vectors.configure(replicas)
        if wanted:
            index.reopen({f"similarity.default.{key}": value for key, value in wanted.items()})
    finally:
        lease.release()


def find(address: Address) -> list[str]:
    """The URLs of the collections on a server; of an address with an index, that one alone."""
    target = Target.parse(address.url, needs_index=False)
    found = {
        alias
        for name, index in indices_like(target, target.index or "*").items()
        for alias in index.get("aliases", {})
        if _meta(index).get("format") == FORMAT and _is_version(name, alias)
    }
    return [Target(target.host, target.port, target.https, target.user, alias).url for alias in sorted(found)]


def current(target: Target) -> tuple[str, dict[str, Any]] | None:
    """The index that an alias (or name) means, and what it says of itself; None for nothing.

    :raises InputError: for an alias of several indexes.
    """
    found = indices_like(target, target.index)
    if len(found) > 1:
        raise InputError(
            f"collection {target}: {target.index!r} is an alias of {len(found)} indexes ({', '.join(sorted(found))}); "
            "wanted: of one."
        )
    return next(((name, _meta(index)) for name, index in found.items()), None)


def _check_address(address: Address, target: Target) -> None:
    if address.fields is not None:
        raise InputError(f"collection {target}: an index made by convqa has its own fields; leave fields out.")
    if len(target.index.encode()) > _LONGEST_NAME:
        raise InputError(f"collection {target}: the name is too long; wanted: at most {_LONGEST_NAME} bytes.")


def _check_target(target: Target, replace: bool) -> str | None:
    """What is in a new collection's place: the index of an old version, or None.

    :raises InputError: if that is to stay.
    """
    found = current(target)
    if found is None:
        return None
    name, meta = found
    if meta.get("format") != FORMAT or not _is_version(name, target.index):
        raise InputError(
            f"{target.index!r} at {target.http} is an index that convqa did not make: it is left alone. Give another "
            "name."
        )
    if not replace:
        raise InputError(f"collection {target} exists. Give --add to add to it or --replace to build it anew.")
    return name


def _mine(target: Target) -> tuple[str, Record]:
    """The index of a collection that convqa made.

    :raises InputError: if there is none, or another's.
    """
    found = current(target)
    if found is None:
        raise _missing(target)
    name, meta = found
    record = Record.of(meta, name)
    if not _is_version(name, target.index):
        raise InputError(f"{target.index!r} at {target.http} is an index by its own name, no collection: left alone.")
    return name, record


def _missing(target: Target) -> InputError:
    return InputError(f"there is no collection {target}. See convqa collections list.")


def _versions(target: Target) -> list[str]:
    """The index of a collection that convqa made, if there is one, and those that builds left.

    :raises InputError: if the name means another's index.
    """
    mine = [_mine(target)[0]] if current(target) else []
    return [*mine, *_unfinished(target)]


def _begin(target: Target, wanted: Record, shards: int) -> tuple[Index, Record]:
    """The unfinished index to go on with, or a new one; other unfinished ones are removed."""
    chosen: tuple[Index, Record] | None = None
    for name, found in _unfinished(target).items():
        index = Index(target, name)
        index.quiet()
        record = _resumable(found, wanted, shards)
        if record is not None and chosen is None:
            logger.info("%s: going on with an unfinished build that has %d passages", target, record.count)
            chosen = index, record
        else:
            logger.warning("%s: the unfinished index %s of an earlier build is removed", target, name)
            _remove(index)
    if chosen is not None:
        return chosen
    index = Index(target, f"{target.index}-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{secrets.token_hex(2)}")
    index.create(settings(shards, 0, wanted.k1, wanted.b), mappings(wanted))
    return index, wanted


def _unfinished(target: Target) -> dict[str, dict[str, Any]]:
    """The versions of a collection that no alias names, newest first. Nobody works at them who has not the lease."""
    found = indices_like(target, f"{target.index}-*")
    return {
        name: found[name]
        for name in sorted(found, reverse=True)
        if _is_version(name, target.index) and _meta(found[name]).get("format") == FORMAT and not _aliases(found[name])
    }


def _resumable(found: Mapping[str, Any], wanted: Record, shards: int) -> Record | None:
    """The record of an unfinished index, if what is wanted can go on from it."""
    meta = _meta(found)
    if meta.get("version") != VERSION or int(found["settings"]["index"]["number_of_shards"]) != shards:
        return None
    record = Record.of(meta, "")
    same = replace(record, count=0, checksum=wanted.checksum, batches=0, prefix=())
    return record if same == wanted and record.prefix else None


def _put(index: Index, record: Record, replicas: int, old: str | None) -> None:
    """Put a whole index behind its alias, in the place of an old one, by one call; then remove the old one."""
    target, known = index.target, index.client
    index.configure({"number_of_replicas": replicas})
    if (vectors := Index(target, vectors_of(index.name))).exists():
        vectors.configure({"number_of_replicas": replicas})
    index.write(record)
    actions: list[dict[str, Any]] = [{"add": {"index": index.name, "alias": target.index}}]
    if old is not None:
        actions.append({"remove": {"index": old, "alias": target.index}})
    asking(target, lambda: known.indices.update_aliases(actions=actions))
    if old is not None:
        # Searches that have found it already may end.
        time.sleep(_GRACE)
        _remove(Index(target, old))


def _remove(index: Index) -> None:
    """Remove an index and its vectors."""
    index.delete()
    Index(index.target, vectors_of(index.name)).delete()


def _is_version(name: str, alias: str) -> bool:
    return re.fullmatch(re.escape(alias) + r"-\d{14}-[0-9a-f]{4}", name) is not None


def _meta(index: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = index.get("mappings", {}).get("_meta") or {}
    return found


def _aliases(index: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = index.get("aliases") or {}
    return found
