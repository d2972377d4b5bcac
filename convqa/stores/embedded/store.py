"""A collection in a folder: tantivy finds candidates, a forward file scores them exactly."""

from __future__ import annotations

import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from convqa.domain import Passage, Query, Ranking
from convqa.errors import InputError, StoreDamaged, WorkError
from convqa.stores.base import Info, SearchParams, refuse_unknown
from convqa.stores.embedded import index
from convqa.stores.embedded.manifest import FORMAT, NAME, Manifest, sync_folder
from convqa.stores.embedded.snapshot import Snapshot, search_all
from convqa.stores.embedded.writer import LOCK, Writer, writing
from convqa.text.analysis import analyzer

_BUILDING = "building.lock"
_BEGINNING = 60
"""Seconds."""

CAPABILITIES = frozenset({"k1", "b", "title_weight", "stopwords", "filter", "write"})


class Embedded:
    """A collection in a folder. Searches from many threads at once are safe; writing is one thread's work.

    An add, delete or commit that raises drops everything since the last commit.

    :raises InputError: if the folder is no collection, or of a later version.
    :raises StoreDamaged: if it is not as it was written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._snapshot: Snapshot | None = Snapshot.open(folder)
        self._writer: Writer | None = None
        self._lock = threading.Lock()

    def info(self) -> Info:
        manifest = self._state().manifest
        return Info(
            engine="embedded",
            count=manifest.count,
            language=manifest.language,
            analyzer=manifest.analyzer,
            fields=("title", "text"),
            checksum=manifest.checksum,
            capabilities=CAPABILITIES,
        )

    def search(self, queries: Sequence[Query], k: int, params: SearchParams, texts: int = 20) -> list[Ranking]:
        """See :class:`convqa.stores.base.Store`. k1 and b default to .82 and .68; passages that score 0 are no hits."""
        refuse_unknown(params, CAPABILITIES, f"the embedded collection {self.folder}")
        return search_all(self._state(), queries, k, params, texts)

    def fetch(self, ids: Sequence[str]) -> list[Passage | None]:
        state = self._state()
        return [state.fetch(id) for id in ids]

    def scan(self) -> Iterator[Passage]:
        return self._state().scan()

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; one that is there already, word for word, is skipped.

        Memory does not grow with the passages, but for what is kept of each id and distinct token.

        :raises InputError: for an id that is there with another content.
        """
        with self._transaction() as writer:
            writer.add(passages)

    def delete(self, ids: Sequence[str]) -> None:
        with self._transaction() as writer:
            writer.delete(ids)

    def commit(self) -> None:
        if self._writer is None:
            return
        with self._transaction() as writer:
            writer.commit()
            self._writer = None
        with self._lock:
            # Searches that run now hold the old state; it goes when they end.
            self._snapshot = Snapshot.open(self.folder)

    def close(self) -> None:
        """Let go of the files; what was not committed is dropped."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._snapshot = None

    def _state(self) -> Snapshot:
        state = self._snapshot
        if state is None:
            raise WorkError(f"collection {self.folder} is closed")
        return state

    @contextmanager
    def _transaction(self) -> Iterator[Writer]:
        writer = self._writer = self._writer or Writer(self.folder)
        try:
            yield writer
        except BaseException:
            self._writer = None
            writer.close()
            raise


def identity(folder: Path) -> tuple[int, ...] | None:
    """What changes when the folder is committed to or replaced; None where there is nothing."""
    try:
        status = (folder / NAME).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def is_collection(folder: Path) -> bool:
    """Whether the folder has a manifest that speaks of convqa."""
    try:
        return FORMAT.encode() in (folder / NAME).read_bytes()
    except OSError:
        return False


@contextmanager
def create(folder: Path, language: str, replace: bool = False) -> Iterator[Embedded]:
    """A new collection, empty at first: built aside, committed and renamed into place when the block ends well.

    :raises InputError: if there is something in its place and it is not to be replaced, or is no collection.
    """
    folder = Path(os.path.realpath(folder))
    _check_target(folder, replace)
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        aside = _beside(folder)
        aside.mkdir()
        building = FileLock(aside / _BUILDING)
        building.acquire(timeout=0)
    try:
        with writing(folder):
            index.create(aside)
            Manifest(language, analyzer(language).name).write(aside)
        store = Embedded(aside)
        try:
            yield store
            store.commit()
        finally:
            store.close()
        building.release()
        _check_target(folder, replace)
        with writing(folder):
            _put(aside, folder)
    finally:
        building.release()
        shutil.rmtree(aside, ignore_errors=True)


def _check_target(folder: Path, replace: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / NAME).exists():
        raise InputError(f"{folder} exists and is not a convqa collection: it is left alone. Give another place.")
    if not replace:
        raise InputError(f"collection {folder} exists. Give --add to add to it or --replace to build it anew.")


def _put(aside: Path, folder: Path) -> None:
    for lock in (LOCK, _BUILDING):
        (aside / lock).unlink(missing_ok=True)
    old = _beside(folder)
    if folder.exists():
        folder.rename(old)
    aside.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.tmp-{uuid.uuid4().hex[:12]}")


def _sweep(folder: Path) -> None:
    """Remove what a killed build left beside the folder, but never the last whole collection.

    A build that is at work holds its lock, or is just beginning.
    """
    for stale in folder.parent.iterdir():
        with suppress(Timeout, OSError):
            if stale.name.startswith(f"{folder.name}.tmp-") and stale.stat().st_mtime < time.time() - _BEGINNING:
                with FileLock(stale / _BUILDING, timeout=0):
                    pass
                if folder.exists() or not _is_whole(stale):
                    shutil.rmtree(stale, ignore_errors=True)


def _is_whole(folder: Path) -> bool:
    try:
        return Manifest.read(folder).generation > 0
    except (InputError, StoreDamaged):
        return False
