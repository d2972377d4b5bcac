"""What is at an address: a collection that convqa made, or an index that others filled."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from hashlib import blake2b
from typing import Any

from convqa.domain import DEFAULT_LANGUAGE
from convqa.errors import InputError
from convqa.stores.address import Address
from convqa.stores.elasticsearch.connect import Target, client
from convqa.stores.elasticsearch.errors import IndexMissing, asking, refused
from convqa.stores.elasticsearch.foreign import Foreign
from convqa.stores.elasticsearch.layout import Layout
from convqa.stores.elasticsearch.msearch import Searches
from convqa.stores.elasticsearch.schema import FORMAT, Record
from convqa.stores.elasticsearch.state import similarity
from convqa.stores.elasticsearch.store import Elasticsearch

_ALL = "*.mappings,*.settings.index"
_NO_INDEX = {"error": {"type": "index_not_found_exception"}}


def key(address: Address) -> str:
    """The server and the index; for an index of others also what is told about it."""
    told = "" if address.fields is None else f" {address.fields!r} {address.language}"
    return Target.parse(address.url).url + told


def identity(address: Address) -> Hashable | None:
    """What changes with every commit, or when the alias means another index; None where there is nothing."""
    target = Target.parse(address.url)
    found = _found(target, "*.mappings._meta,*.settings.index.uuid,*.settings.index.similarity.default")
    if found is None:
        return None
    name, index = found
    meta = _meta(index)
    if meta.get("format") != FORMAT or "encoder" in meta:
        return _checksum(target, name)
    record = Record.of(meta, name)
    return name, record.batches, record.count, record.checksum, *similarity(index)


def open_collection(address: Address) -> Elasticsearch | Foreign:
    """:raises InputError: if there is nothing, or it cannot be searched as passages.
    :raises StoreUnavailable, StoreDamaged: see :class:`Elasticsearch`.
    """
    target = Target.parse(address.url)
    found = _found(target, _ALL)
    if found is None:
        raise refused(404, _NO_INDEX, target)
    name, index = found
    meta, shards = _meta(index), int(index["settings"]["index"]["number_of_shards"])
    if meta.get("format") == FORMAT:
        _check_own(address, target, meta)
        return Elasticsearch(target, name, shards)
    layout = Layout.of(address.fields, index.get("mappings", {}), index["settings"]["index"], str(target))
    language, count = address.language or DEFAULT_LANGUAGE, _count(target, name)
    return Foreign(Searches(target, name, shards > 1), layout, language, count, _checksum(target, name))


def _check_own(address: Address, target: Target, meta: Mapping[str, Any]) -> None:
    if "encoder" in meta:
        raise InputError(
            f"collection {target} is the index of a collection's vectors: leave out what follows the collection's name."
        )
    if address.fields is not None:
        raise InputError(f"collection {target} was made by convqa index and has its own fields; leave fields out.")


def _found(target: Target, path: str) -> tuple[str, Mapping[str, Any]] | None:
    """The index that a name or alias means, by its own name.

    :raises InputError: for an alias of several.
    """
    quiet = client(target).options(ignore_status=404)
    answer = asking(
        target,
        lambda: quiet.indices.get(
            index=target.index, expand_wildcards=["open", "closed"], filter_path=f"{path},error,status"
        ),
    )
    if answer.meta.status == 404:
        error = refused(404, answer.body, target)
        if not isinstance(error, IndexMissing):
            raise error
        return None
    indices: Mapping[str, Any] = answer.body
    if len(indices) > 1:
        raise InputError(
            f"collection {target} is an alias of {len(indices)} indexes ({', '.join(sorted(indices)[:5])}); wanted: "
            "one."
        )
    return next(iter(indices.items()), None)


def _meta(index: Mapping[str, Any]) -> Mapping[str, Any]:
    return index.get("mappings", {}).get("_meta") or {}


def _count(target: Target, name: str) -> int:
    return int(asking(target, lambda: client(target).count(index=name))["count"])


def _checksum(target: Target, name: str) -> str:
    """What changes whenever an index of others does: of its identity and the last write's number of each shard.

    It names the index's state, not its content: two indexes with the same passages have different ones.
    """
    answer = asking(target, lambda: client(target).indices.stats(index=name, metric="docs", level="shards"))
    index = answer["indices"][name]
    written = {
        number: max(copy["seq_no"]["max_seq_no"] for copy in copies)
        for number, copies in sorted(index["shards"].items())
    }
    return blake2b(repr((index["uuid"], written)).encode(), digest_size=16).hexdigest()
