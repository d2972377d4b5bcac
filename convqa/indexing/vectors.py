"""Vectors into a collection: each passage that has none is encoded, in commits, so that a load that ended goes on."""

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
from convqa.indexing.build import Progress
from convqa.models import Options, TextEncoder, load_encoder
from convqa.models.types import Choice
from convqa.stores import exists, open_store
from convqa.stores.address import redact
from convqa.stores.base import Encoder, Info, VectorOptions, WritableStore, label
from convqa.workers import Workers

_AT_ONCE = 256
"""Passages that are encoded together, sorted by length."""

_COMMIT = 20 * _AT_ONCE
"""Passages of a commit: what a load that is killed may lose, less than a minute's work on two cores."""


def add_vectors(
    url: str,
    model: TextEncoder,
    options: VectorOptions | None = None,
    progress: Progress | None = None,
    workers: Workers | None = None,
) -> Info:
    """Give every passage of a collection that has no vector its own, of title and text together.

    What was committed stays when the work ends early, and the same call goes on from there.

    :param options: how the first vectors are kept (None: the defaults); later ones may leave them out.
    :param workers: that encode; None = this process.
    :raises InputError: for a collection that keeps no vectors, or has those of another encoder, or others options.
    """
    store = _writable(url, model)
    if unknown := unknown_language(model, store.info(), f"collection {redact(url)}"):
        log.warning(
            "%s: its vectors say little about what the passages mean. The pipeline default ranks its passages by "
            "words; for rankings by vectors give an encoder that knows the language.", unknown,
        )  # fmt: skip
    try:
        if options is not None and store.info().encoder is not None:
            # Says at once what options the collection refuses.
            store.add_vectors([], model.encode([], role="passage"), named(model), options)
        _fill(store, model, options, progress, workers)
    except BaseException:
        # What was not committed is dropped.
        store.close()
        raise
    return store.info()


def refuse_vectors(url: str, model: TextEncoder) -> None:
    """Raise unless the collection at a URL, if there is one, can take vectors of this encoder.

    :raises InputError: for an engine without vectors, or vectors of another encoder.
    """
    if exists(url):
        _writable(url, model)


def _fill(
    store: WritableStore,
    model: TextEncoder,
    options: VectorOptions | None,
    progress: Progress | None,
    workers: Workers | None,
) -> None:
    info = store.info()
    done = waiting = longer = 0
    for some, matrix in _encoded(store.without_vectors(), model, workers):
        store.add_vectors([passage.id for passage in some], matrix.result(), named(model), options)
        longer += model.longer([passage.whole_text for passage in some])
        done, waiting = done + len(some), waiting + len(some)
        if waiting >= _COMMIT:
            store.commit()
            waiting = 0
        if progress is not None:
            progress(done, info.count - info.vectors)
    store.commit()
    if longer:
        log.warning(
            "%d of %d passages are longer than the %d tokens that the encoder %r sees: their vectors are of their "
            "beginnings. Cut long texts into several passages.", longer, done, model.max_tokens, model.name,
        )  # fmt: skip


def _writable(url: str, model: TextEncoder) -> WritableStore:
    store, place = open_store(url), f"collection {redact(url)}"
    info = store.info()
    if not isinstance(store, WritableStore) or not {"write", "vectors"} <= info.capabilities:
        raise InputError(f"{place} ({info.engine}) cannot be given vectors: convqa did not make it, or only reads it.")
    if model.sparse and "sparse" not in info.capabilities:
        raise InputError(f"{place} ({info.engine}) keeps no token weights; a folder or Elasticsearch does.")
    if info.encoder not in {None, named(model)}:
        raise InputError(
            f"{place} has vectors of {label(info.encoder)}; found the encoder {label(named(model))}. Give the "
            "collection's own, or index the passages anew with --replace."
        )
    return store


def _encoded(
    passages: Iterator[Passage], model: TextEncoder, workers: Workers | None
) -> Iterator[tuple[list[Passage], Future[Matrix]]]:
    """Passages in their order, some at a time, with their vectors, of which workers make those of the next, too."""
    under_way: deque[tuple[list[Passage], Future[Matrix]]] = deque()
    while some := list(islice(passages, _AT_ONCE)):
        texts = [passage.whole_text for passage in some]
        if workers is None:
            made: Future[Matrix] = Future()
            made.set_result(model.encode(texts, role="passage"))
        else:
            choice = model.runs if isinstance(model.runs, Choice) else None
            made = workers.submit(workers.call, _encode, named(model), choice, texts)
        under_way.append((some, made))
        if workers is None or len(under_way) > workers.count:
            yield under_way.popleft()
    yield from under_way


def _encode(encoder: Encoder, choice: Choice | None, texts: list[str]) -> Matrix:
    """The vectors of texts, made in a worker. :param choice: how the encoder runs here; None: on a server."""
    options = Options() if choice is None else Options(choice.device, choice.precision, choice.engine)
    model = load_encoder(encoder.name, options, encoder.sparse)
    if named(model) != encoder:
        raise InputError(f"the worker on {gethostname()} has {label(named(model))}; wanted {label(encoder)}.")
    return model.encode(texts, role="passage")
