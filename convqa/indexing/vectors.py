"""Encode the passages without a vector, in commits, so that an interrupted load can continue."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import islice
from socket import gethostname

from convqa.components.encoding import DEFAULT_ENCODERS, Matrix, encoder_of, named, unknown_language
from convqa.domain import Passage
from convqa.errors import InputError
from convqa.files import log
from convqa.indexing.passages import PassageProgress
from convqa.models import Options, TextEncoder, load_encoder
from convqa.models.types import Choice
from convqa.stores import open_store
from convqa.stores.address import redact
from convqa.stores.base import Encoder, Info, WritableStore, label
from convqa.stores.checks import refuse_other_encoder
from convqa.workers import Workers

_PASSAGES_PER_BATCH = 256
"""Passages per batch of the encoder."""

_VECTORS_PER_COMMIT = 20 * _PASSAGES_PER_BATCH
"""Passages per commit: the most that a killed load loses, under a minute on two cores."""


def default_encoder(url: str) -> TextEncoder | None:
    """Return the encoder whose vectors the passages of a collection get by default, otherwise None.

    It is that of the vectors that are there, otherwise the default one of the collection's language. They get none if
    the engine stores no vectors, the encoder is not here, or does not know the language, and if there are too many to
    encode; a warning says so.
    """
    store = open_store(url)
    info = store.info()
    if not {"vectors", "write"} <= info.capabilities:
        return None
    model = load_encoder(encoder_of(store))
    if unknown := unknown_language(model, info, f"collection {redact(url)}"):
        log.warning("%s", unknown)
        return None
    if info.encoder not in {None, named(model)}:
        return None
    missing = info.count - info.vectors
    if missing > DEFAULT_ENCODERS.get(model.name, 12_000):
        log.warning(
            "%d passages have no vectors, and only questions that use their words find them. Vectors of so many take "
            "long: convqa index --collection %s --vectors %s",
            missing,
            redact(url),
            model.name,
        )
        return None
    return model


def add_vectors(
    url: str,
    model: TextEncoder,
    progress: PassageProgress | None = None,
    workers: Workers | None = None,
) -> Info:
    """Add vectors of title and text for all passages of a collection that lack one.

    Commits survive an interruption, and the same call continues from there.

    :param workers: the workers that encode; None = this process.
    :raises InputError: if the collection stores no vectors, or vectors of another encoder.
    """
    store = store_for_vectors(url, model)
    info = store.info()
    if unknown := unknown_language(model, info, f"collection {redact(url)}"):
        log.warning("%s", unknown)
    done = 0
    try:
        for batch, matrix in _encoded(store.without_vectors(), model, workers):
            store.add_vectors([passage.id for passage in batch], matrix.result(), named(model))
            done += len(batch)
            if done % _VECTORS_PER_COMMIT == 0:
                store.commit()
            if progress is not None:
                progress(done, info.count - info.vectors)
        store.commit()
    except BaseException:
        # Drops uncommitted vectors.
        store.close()
        raise
    return store.info()


def writable(url: str, language: str | None = None) -> WritableStore:
    """Open a collection for writing.

    :param language: the language that it should have.
    :raises InputError: if it is read-only or in another language.
    """
    store = open_store(url)
    info = store.info()
    if not isinstance(store, WritableStore) or "write" not in info.capabilities:
        raise InputError(f"collection {redact(url)} ({info.engine}) is read-only: nothing can be added to it.")
    if language not in {None, info.language}:
        raise InputError(
            f"collection {redact(url)} is in language {info.language!r}, not {language!r}: add with --language "
            f"{info.language}, or make another collection."
        )
    return store


def store_for_vectors(url: str, model: TextEncoder) -> WritableStore:
    """Open a collection for vectors of an encoder.

    :raises InputError: if its engine stores no vectors, or it has vectors of another encoder.
    """
    store = writable(url)
    info = store.info()
    if "vectors" not in info.capabilities:
        raise InputError(f"collection {redact(url)} ({info.engine}) cannot take vectors.")
    refuse_other_encoder(info.encoder, named(model), f"collection {redact(url)}")
    return store


def _encoded(
    passages: Iterator[Passage], model: TextEncoder, workers: Workers | None
) -> Iterator[tuple[list[Passage], Future[Matrix]]]:
    """Yield batches of passages in order with their vectors. Workers encode further batches meanwhile."""
    pending: deque[tuple[list[Passage], Future[Matrix]]] = deque()
    while batch := list(islice(passages, _PASSAGES_PER_BATCH)):
        texts = [passage.whole_text for passage in batch]
        if workers is None:
            matrix: Future[Matrix] = Future()
            matrix.set_result(model.encode(texts, role="passage"))
        else:
            matrix = workers.submit(workers.call, _encode, named(model), model.runs, texts)
        pending.append((batch, matrix))
        if workers is None or len(pending) > workers.count:
            yield pending.popleft()
    yield from pending


def _encode(
    encoder: Encoder,
    choice: Choice,
    texts: list[str],
) -> Matrix:
    """Encode texts in a worker. :param choice: how the encoder runs."""
    options = Options() if choice.precision == "int8" else Options(choice.device, choice.precision)
    model = load_encoder(encoder.name, options)
    if named(model) != encoder:
        raise InputError(f"the worker on {gethostname()}: expected {label(encoder)}, got {label(named(model))}.")
    return model.encode(texts, role="passage")
