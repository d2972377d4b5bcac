"""Encode vectors in shards, and merge them into a collection.

Each shard builds a part: a folder collection of its passages and their vectors. No shard writes into the collection
itself, and an interrupted shard can continue.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import islice

import numpy as np

from convqa.errors import InputError
from convqa.indexing.passages import PassageProgress
from convqa.indexing.vectors import add_vectors
from convqa.models import TextEncoder
from convqa.stores import create_store, exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Info, VectorOptions, WritableStore, label
from convqa.stores.content import checksum
from convqa.workers import Workers
from convqa.workers.shard import Shard

_VECTORS_PER_COMMIT = 20_000
"""Vectors per commit."""


def encode_shard(
    url: str,
    model: TextEncoder,
    shard: Shard,
    part: str,
    progress: PassageProgress | None = None,
    workers: Workers | None = None,
) -> Info:
    """Build or continue the part of a shard.

    :param part: the folder of the part.
    :raises InputError: if the part has vectors of another encoder.
    """
    source = open_store(url)
    if not exists(part):
        with create_store(part, source.info().language) as store:
            store.add(passage for passage in source.scan() if shard.has(zlib.crc32(passage.id.encode())))
    return add_vectors(part, model, None, progress, workers)


def merge_parts(
    url: str, parts: Sequence[str], options: VectorOptions | None = None, progress: PassageProgress | None = None
) -> Info:
    """Add the vectors of all parts to their collection. An interrupted merge can be repeated.

    :param options: the storage options of a collection's first vectors.
    :raises InputError: unless the parts have each passage of the collection once, and vectors of one encoder.
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
            f"{redact(url)}: has {whole.count} passages, which differ from the {count} of the parts. Give the parts "
            "of all shards, each once, made since the collection last changed."
        )
    if not isinstance(store, WritableStore) or encoder is None:
        raise InputError(f"{redact(url)}: cannot take vectors: it is read-only or empty.")
    done = 0
    for part in parts:
        source = open_store(part)
        assert isinstance(source, WritableStore)  # built by encode_shard
        all_ids = (passage.id for passage in source.scan())
        while ids := list(islice(all_ids, _VECTORS_PER_COMMIT // 10 if encoder.sparse else _VECTORS_PER_COMMIT)):
            # Skips vectors committed by an earlier call.
            if not whole.vectors or any(vector is None for vector in store.vectors(ids)):
                matrix = np.stack([vector for vector in source.vectors(ids) if vector is not None])
                store.add_vectors(ids, matrix, encoder, options)
                store.commit()
            done += len(ids)
            if progress is not None:
                progress(done, count)
    return store.info()
