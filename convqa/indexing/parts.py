"""Vectors made in shards: each makes a part, and the vectors of all parts go into the collection.

A part is a collection in a folder, with the passages of its shard and their vectors. So no shard writes into the
collection, whatever its engine, and a shard that ended early goes on.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from convqa.errors import InputError
from convqa.indexing.build import Progress
from convqa.indexing.vectors import add_vectors
from convqa.models import TextEncoder
from convqa.stores import create_store, exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Info, VectorOptions, WritableStore, label
from convqa.stores.content import checksum
from convqa.workers import Workers
from convqa.workers.shard import Shard

_COMMIT = 20_000
"""Vectors of a commit."""


def encode_shard(
    url: str,
    model: TextEncoder,
    shard: Shard,
    part: str,
    progress: Progress | None = None,
    workers: Workers | None = None,
) -> Info:
    """Make the part of a shard, or go on with it.

    :param part: its folder.
    :raises InputError: for a part with vectors of another encoder.
    """
    source = open_store(url)
    if not exists(part):
        with create_store(part, source.info().language) as store:
            store.add(passage for passage in source.scan() if shard.has(zlib.crc32(passage.id.encode())))
    return add_vectors(part, model, None, progress, workers)


def merge_parts(
    url: str, parts: Sequence[str], options: VectorOptions | None = None, progress: Progress | None = None
) -> Info:
    """Put the vectors of all parts into their collection.

    What was committed stays when the work ends early, and the same call goes on from there.

    :param options: how the first vectors are kept.
    :raises InputError: unless the parts have the passages of the collection, each once, and vectors of one encoder.
    """
    store = open_store(url)
    _check(store.info(), redact(url), {part: open_store(part).info() for part in parts})
    if not isinstance(store, WritableStore):
        raise InputError(f"{redact(url)}: cannot be given vectors: convqa only reads it.")
    try:
        _load(store, parts, options, progress)
    except BaseException:
        # What was not committed is dropped.
        store.close()
        raise
    return store.info()


def _check(whole: Info, place: str, parts: Mapping[str, Info]) -> None:
    first = next(iter(parts.values())).encoder
    for part, info in parts.items():
        if info.encoder is None or first is None or info.vectors < info.count:
            raise InputError(f"{part}: {info.count - info.vectors} passages have no vector. Give its command again.")
        if info.encoder != first:
            raise InputError(f"{part}: has vectors of {label(info.encoder)}; the first part of {label(first)}.")
    count = sum(info.count for info in parts.values())
    if count != whole.count or checksum(sum(int(info.checksum, 16) for info in parts.values())) != whole.checksum:
        raise InputError(
            f"{place}: has {whole.count} passages, and the parts {count}, which are not the same. Wanted: the parts of "
            "all shards, each once, made since the collection last changed."
        )


def _load(store: WritableStore, parts: Sequence[str], options: VectorOptions | None, progress: Progress | None) -> None:
    done, total, some = 0, store.info().count, store.info().vectors > 0
    for part in parts:
        made = open_store(part)
        encoder = made.info().encoder
        assert isinstance(made, WritableStore) and encoder is not None
        ids_of_all = (passage.id for passage in made.scan())
        while ids := list(islice(ids_of_all, _COMMIT // 10 if encoder.sparse else _COMMIT)):
            # A commit that was made before is passed over.
            if not some or any(vector is None for vector in store.vectors(ids)):
                matrix = np.stack([vector for vector in made.vectors(ids) if vector is not None])
                store.add_vectors(ids, matrix, encoder, options)
                store.commit()
            done += len(ids)
            if progress is not None:
                progress(done, total)
