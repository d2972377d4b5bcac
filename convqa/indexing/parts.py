"""Vectors made in shards: each shard makes a part, and the vectors of all parts go into the collection.

A part is a collection in a folder, with the passages of its shard and their vectors. So no shard writes into the
collection, whatever its engine, and a shard that ended early goes on.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
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
    """Make the part of a shard, or continue it. :param part: its folder.

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
    """Put the vectors of all parts into their collection. After an early end the same call continues.

    :param options: how the first vectors are kept.
    :raises InputError: unless the parts have the passages of the collection, each once, and vectors of one encoder.
    """
    store, infos = open_store(url), [open_store(part).info() for part in parts]
    whole, encoder = store.info(), next((info.encoder for info in infos if info.encoder), None)
    for part, info in zip(parts, infos, strict=True):
        if info.vectors < info.count:
            raise InputError(f"{part}: {info.count - info.vectors} passages have no vector. Give its command again.")
        if info.encoder and encoder and info.encoder != encoder:  # a part may be empty
            raise InputError(f"{part}: has vectors of {label(info.encoder)}; another part of {label(encoder)}.")
    count = sum(info.count for info in infos)
    if count != whole.count or checksum(sum(int(info.checksum, 16) for info in infos)) != whole.checksum:
        raise InputError(
            f"{redact(url)}: has {whole.count} passages, and the parts {count}, which are not the same. Wanted: the "
            "parts of all shards, each once, made since the collection last changed."
        )
    if not isinstance(store, WritableStore) or encoder is None:
        raise InputError(f"{redact(url)}: cannot be given vectors: convqa only reads it, or it is empty.")
    done = 0
    for part in parts:
        made = open_store(part)
        assert isinstance(made, WritableStore)  # encode_shard made it
        ids_of_all = (passage.id for passage in made.scan())
        while ids := list(islice(ids_of_all, _COMMIT // 10 if encoder.sparse else _COMMIT)):
            # Vectors that were committed before are passed over.
            if not whole.vectors or any(vector is None for vector in store.vectors(ids)):
                matrix = np.stack([vector for vector in made.vectors(ids) if vector is not None])
                store.add_vectors(ids, matrix, encoder, options)
                store.commit()
            done += len(ids)
            if progress is not None:
                progress(done, count)
    return store.info()
