"""Find the collection of a run: the given one, or one in the input directory."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import orjson
from filelock import FileLock

from convqa.domain import Passage
from convqa.errors import InputError, StoreDamaged, StoreUnavailable, WorkError
from convqa.files import replace_surrogates
from convqa.indexing.passages import SUFFIXES, PassageProgress, read_passages, reporting
from convqa.places import cache_folder
from convqa.stores import create_store, find_stores, open_store
from convqa.stores.address import SCHEME, redact
from convqa.tasks.base import Task
from convqa.text.analysis import analyzer

ANSERINI = "passages-index-anserini"
"""The folder with the index that shared tasks distribute."""

_FILES = (*SUFFIXES, ".jl", ".jl.gz")
"""Suffixes of files of passages. The last two are not searched for in folders because PolEval's questions have them."""

_CACHE_FORMAT = 2
"""Part of every key. Increased when unchanged passages must be indexed again."""


def collection_for(
    task: Task,
    input_path: Path,
    url: str | None,
    language: str = "en",
    progress: PassageProgress | None = None,
) -> str:
    """Return the URL of a run's collection, which is built if necessary. The input directory is only read.

    The order is: ``--collection``; in the input directory passages-index-anserini, a convqa index or
    passages.jsonl[.gz]; the task's own passages.

    :raises InputError: if there is none of these.
    """
    if url:
        return collection_of(url, language, progress)
    folder = input_path if input_path.is_dir() else input_path.parent
    if (folder / ANSERINI).is_dir():
        return collection_of(f"anserini:{folder / ANSERINI}")
    if (existing := _collection_in(folder)) is not None:
        return collection_of(existing)
    for suffix in SUFFIXES:
        if (folder / f"passages{suffix}").is_file():
            return collection_of(str(folder / f"passages{suffix}"), language, progress)
    passages = task.passages(input_path)
    if passages is not None:
        digest = _digest_of(passages)
        return _cached(input_path, digest, lambda: task.passages(input_path) or (), language, progress)
    own = f", and for the task's own {task.passages_file}" if task.passages_file else ""
    raise InputError(
        f"no collection for {input_path}: give --collection with a folder made by convqa index or a JSONL file of "
        f"passages. Looked in {folder} for {ANSERINI}, a convqa index, passages.jsonl and passages.jsonl.gz{own}."
    )


def collection_of(
    url: str,
    language: str = "en",
    progress: PassageProgress | None = None,
) -> str:
    """Return the URL of a collection, given its URL or a file of passages, which is indexed once into the cache.

    :raises InputError: if it does not exist, or for malformed passages.
    """
    path = Path(url)
    if url.endswith(_FILES) and not SCHEME.match(url) and not path.is_dir():
        if not path.is_file():
            raise InputError(
                f"passages {redact(url)} do not exist; expected a folder made by convqa index, or a JSONL file."
            )
        return _cached(path, _digest_of_file(path), lambda: read_passages([path]), language, progress)
    open_store(url)
    return url


def collection_of_passages(passages: Iterable[Passage], language: str = "en") -> str:
    """Return the URL of a collection of passages in memory, which is indexed once into the cache."""
    given = list(passages)
    if not given:
        raise InputError("collection: expected one passage or more, got none.")
    return _cached(None, _digest_of(given), lambda: given, language, None)


def _collection_in(folder: Path) -> str | None:
    collections = [url for url in find_stores(str(folder)) if not url.startswith("anserini:")]
    if len(collections) > 1:
        raise InputError(f"{folder} has several collections: {', '.join(collections)}. Name one with --collection.")
    return collections[0] if collections else None


def _cached(
    source: Path | None,
    digest: str,
    passages: Callable[[], Iterable[Passage]],
    language: str,
    progress: PassageProgress | None,
) -> str:
    """Return the cached collection of passages, built if necessary. Safe for concurrent processes."""
    key = f"{_CACHE_FORMAT} {analyzer(language).name} {digest}"
    folder = cache_folder() / "collections"
    place = folder / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{place}.lock"):
            if not _usable(place):
                # The path may not be UTF-8.
                settings = {} if source is None else {"source": replace_surrogates(str(source.resolve()))}
                with create_store(str(place), language, settings=settings) as store:
                    store.add(reporting(iter(passages()), progress))
    except OSError as error:
        raise WorkError(
            f"the cache {folder} cannot be written ({error.strerror or error}). Set CONVQA_HOME to a "
            "writable folder, or index the passages with convqa index and give --collection."
        ) from error
    return str(place)


def _usable(place: Path) -> bool:
    """Return whether a cached collection is whole; delete what is left of a damaged one."""
    try:
        open_store(str(place))
    except (InputError, StoreDamaged, StoreUnavailable):
        shutil.rmtree(place, ignore_errors=True)
        return False
    return True


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _digest_of(passages: Iterable[Passage]) -> str:
    digest = hashlib.blake2b()
    for passage in passages:
        digest.update(orjson.dumps(passage.to_json(), option=orjson.OPT_SORT_KEYS))
    return digest.hexdigest()
