"""Encode the passages without a vector, in commits, so that an interrupted load can continue."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import islice
from socket import gethostname

from convqa.components.encoding import Matrix, named, unknown_language
from convqa.domain import Passage
from convqa.errors import InputError
from convqa.files import log
from convqa.indexing.passages import PassageProgress
from convqa.models import Options, TextEncoder, load_encoder
from convqa.models.types import Choice
from convqa.stores import exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Encoder, Info, WritableStore, label
from convqa.workers import Workers

_PASSAGES_PER_BATCH = 256
"""Passages per batch of the encoder."""

_VECTORS_PER_COMMIT = 20 * _PASSAGES_PER_BATCH
"""Passages per commit: the most that a killed load loses, under a minute on two cores."""

MAX_DEFAULT_VECTORS = 50_000
"""Up to this many passages get vectors without being asked: about a quarter of an hour on two cores."""


def default_encoder(url: str, info: Info) -> TextEncoder | None:
    """Return the shipped encoder if the passages of a collection get its vectors by default, otherwise None.

    They do if the engine stores vectors, the collection has none of another encoder, and the encoder knows its
    language. With more than :data:`MAX_DEFAULT_VECTORS` passages to encode, a warning says how to start it.
    """
    model = load_encoder("encoder")
    can_take_vectors = {"vectors", "write"} <= info.capabilities and info.encoder in {None, named(model)}
    if not can_take_vectors or not model.knows(info.language):
        return None
    missing = info.count - info.vectors
    if missing > MAX_DEFAULT_VECTORS:
        log.warning(
            "%d passages have no vectors, and only questions that use their words find them. Vectors of so many take "
            "long: convqa index --collection %s --vectors encoder",
            missing,
            redact(url),
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
    store = _with_encoder(url, model)
    if unknown := unknown_language(model, store.info(), f"collection {redact(url)}"):
        log.warning(
            "%s: its vectors hardly represent the meaning of the passages. The default pipeline ranks them by words; "
            "to rank by vectors, give an encoder for the language.",
            unknown,
        )
    info = store.info()
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


def refuse_vectors(url: str, model: TextEncoder) -> None:
    """Check that a collection, if it exists, can take vectors of this encoder.

    :raises InputError: if its engine stores no vectors, or it has vectors of another encoder.
    """
    if exists(url):
        _with_encoder(url, model)


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


def _with_encoder(url: str, model: TextEncoder) -> WritableStore:
    """Open a collection for vectors of an encoder."""
    store = writable(url)
    info = store.info()
    if "vectors" not in info.capabilities:
        raise InputError(f"collection {redact(url)} ({info.engine}) cannot take vectors.")
    if info.encoder not in {None, named(model)}:
        raise InputError(
            f"collection {redact(url)}: expected its encoder {label(info.encoder)}, got {label(named(model))}. Give "
            "that encoder, or index the passages again with --replace."
        )
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
            choice = model.runs if isinstance(model.runs, Choice) else None
            matrix = workers.submit(workers.call, _encode, named(model), choice, texts)
        pending.append((batch, matrix))
        if workers is None or len(pending) > workers.count:
            yield pending.popleft()
    yield from pending


def _encode(
    encoder: Encoder,
    choice: Choice | None,
    texts: list[str],
) -> Matrix:
    """Encode texts in a worker. :param choice: how the encoder runs; None = on a server."""
    options = Options()
    if choice is not None and choice.precision != "int8":
        options = Options(choice.device, choice.precision)
    model = load_encoder(encoder.name, options)
    if named(model) != encoder:
        raise InputError(f"the worker on {gethostname()}: expected {label(encoder)}, got {label(named(model))}.")
    return model.encode(texts, role="passage")
