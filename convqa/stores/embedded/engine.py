"""The embedded engine: a collection is a folder with a manifest, which names a data folder inside it.

A build fills a new data folder; then writing the manifest replaces the collection atomically. The next build removes
what a killed one left. A folder has one writer at a time. Other files and folders in it are never removed.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace as changed
from pathlib import Path

from filelock import FileLock

from convqa.errors import InputError
from convqa.files import part_of
from convqa.stores.address import Address
from convqa.stores.checks import check_folder, found_in
from convqa.stores.embedded import database
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.files import writing
from convqa.stores.embedded.manifest import NAME, CollectionManifest
from convqa.stores.embedded.search import Snapshot
from convqa.stores.embedded.store import FolderStore
from convqa.stores.embedded.writer import LOCK, writer_lock
from convqa.text.analysis import analyzer

_DATA = re.compile("data-[0-9a-f]{12}")


def identity(address: Address) -> tuple[int, ...] | None:
    return manifests.identity(address.url)


def is_collection(folder: Path) -> bool:
    """Return whether a folder has a manifest beside convqa's data. A collection that is being built does not count."""
    if _DATA.fullmatch(folder.name) or not os.path.isfile(folder / NAME):
        return False
    return bool(_data_folders(folder))


def open_collection(address: Address) -> FolderStore:
    return FolderStore(Path(address.url))


@contextmanager
def create(
    address: Address,
    language: str,
    replace: bool = False,
    settings: Mapping[str, object] | None = None,
) -> Iterator[FolderStore]:
    """Create a collection, which appears when the block succeeds.

    :param settings: ``source``, which is recorded in the manifest.
    :raises InputError: if the folder holds a collection and ``replace`` is false, or other files; for any other
        setting, because k1 and b are given at search time.
    :raises WorkError: if another writer holds the folder.
    """
    folder = Path(os.path.realpath(address.url))
    others = dict(settings or {})
    source = str(others.pop("source", ""))
    if others:
        raise InputError(
            f"collection {folder}: expected no settings, because k1 and b are given at search time; got "
            f"{', '.join(sorted(others))}."
        )
    _check_target(folder, replace)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = writer_lock(folder)
    data = folder / f"data-{uuid.uuid4().hex[:12]}"
    earlier = _data_folders(folder)
    unused = [data]
    try:
        with writing(folder):
            data.mkdir()
            database.create(data)
            CollectionManifest(language, analyzer(language).name, source).write(data)
        store = FolderStore(data)
        try:
            yield store
            store.commit()
        finally:
            store.close()
        with writing(folder):
            changed(CollectionManifest.read(data), data=data.name).write(folder)
            for name in (NAME, LOCK):
                (data / name).unlink(missing_ok=True)
        unused = earlier
    finally:
        for path in unused:
            shutil.rmtree(path, ignore_errors=True)
        _release(folder, lock)


def _release(folder: Path, lock: FileLock) -> None:
    """Release the lock of a folder, and remove the folder if it holds nothing else."""
    if not (folder / NAME).exists():
        with suppress(OSError):
            (folder / LOCK).unlink()
            folder.rmdir()
    lock.release()


def delete(address: Address) -> None:
    """Delete a collection and a link to it, or the remains of a killed build or deletion. Other files are kept.

    :raises InputError: if the folder holds nothing of convqa's.
    :raises WorkError: if a writer holds it.
    """
    link, folder = Path(address.url), Path(os.path.realpath(address.url))
    check_folder(folder, "collection")
    data = _data_folders(folder)
    if not data:
        raise InputError(f"{folder} is not a collection: nothing is deleted.")
    lock = writer_lock(folder)
    try:
        with writing(folder):
            # The manifest first, so that no reader opens the rest.
            for path in (folder / NAME, part_of(folder / NAME)):
                path.unlink(missing_ok=True)
            for path in data:
                shutil.rmtree(path)
    finally:
        _release(folder, lock)
    if link.is_symlink() and not folder.exists():
        link.unlink()


def check(address: Address) -> list[str]:
    folder = Path(address.url)
    used = Snapshot.open(folder, verify=True).manifest.data
    return [str(path) for path in _data_folders(folder) if path.name != used]


def find(address: Address) -> list[str]:
    return [str(path) for path in found_in(Path(address.url), is_collection)]


def _check_target(folder: Path, replace: bool) -> None:
    if is_collection(folder):
        if not replace:
            raise InputError(
                f"collection {folder} exists. Give --add to add to it or --replace to rebuild it. "
                f"If only vectors are missing: convqa index --collection {folder} --vectors ENCODER, without passages."
            )
    elif folder.exists() and not (folder.is_dir() and {*folder.iterdir()} <= _remains(folder)):
        raise InputError(f"{folder} exists and is not a convqa collection. Choose another folder.")


def _remains(folder: Path) -> set[Path]:
    """Return what a killed build may have left in a folder."""
    return {*_data_folders(folder), part_of(folder / NAME), folder / LOCK}


def _data_folders(folder: Path) -> list[Path]:
    """Return the data folders in a folder: they have a database, or are empty after a kill."""
    found = []
    for path in folder.iterdir():
        if _DATA.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            names = {inside.name for inside in path.iterdir()}
            if database.NAME in names or not names:
                found.append(path)
    return found
