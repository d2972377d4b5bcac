"""Encode vectors in shards, and merge them into a collection.

Each shard builds a part: a folder collection of its passages and their vectors. No shard writes into the collection
itself, and an interrupted shard can continue.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import islice
from typing import cast

import numpy as np

from convqa.errors import InputError
from convqa.indexing.passages import PassageProgress
from convqa.indexing.vectors import add_vectors, writable
from convqa.models import TextEncoder
from convqa.stores import create_store, exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Encoder, Info
from convqa.stores.content import checksum
from convqa.workers import Workers
from convqa.workers.shard import Shard

_VECTORS_PER_COMMIT = 5_000
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
    return add_vectors(part, model, progress, workers)


def merge_parts(
    url: str,
    parts: Sequence[str],
    progress: PassageProgress | None = None,
) -> Info:
    """Add the vectors of all parts to their collection. An interrupted merge can be repeated.

    :raises InputError: unless the parts have each passage of the collection once, with its vector, or for vectors of
        several encoders.
    """
    store = open_store(url)
    whole = store.info()
    infos = [open_store(part).info() for part in parts]
    for part, info in zip(parts, infos, strict=True):
        if info.vectors < info.count:
            raise InputError(f"{part}: {info.count - info.vectors} passages have no vector. Give its command again.")
    count = sum(info.count for info in infos)
    if count != whole.count or checksum(sum(int(info.checksum, 16) for info in infos)) != whole.checksum:
        raise InputError(
            f"{redact(url)}: has {whole.count} passages, which differ from the {count} of the parts. Give the parts "
            "of all shards, each once, made since the collection last changed."
        )
    store = writable(url)
    done = 0
    for part, info in zip(parts, infos, strict=True):
        # An empty part has no encoder, and no passages.
        encoder = cast(Encoder, info.encoder)
        source = writable(part)
        all_ids = (passage.id for passage in source.scan())
        while ids := list(islice(all_ids, _VECTORS_PER_COMMIT)):
            # Skips vectors committed by an earlier call.
            if not whole.vectors or any(vector is None for vector in store.vectors(ids)):
                matrix = np.stack([vector for vector in source.vectors(ids) if vector is not None])
                store.add_vectors(ids, matrix, encoder)
                store.commit()
            done += len(ids)
            if progress is not None:
                progress(done, count)
    return store.info()
