"""The embedded engine: a collection is a folder whose manifest names the folder inside it that holds the data.

A build fills a data folder of its own; writing the manifest puts it in place, so that readers see the old collection or
the new one. What a killed build left is removed by the next one. One writer is at work on a folder at a time.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path

from convqa.errors import InputError, StoreDamaged
from convqa.files import part_of
from convqa.stores.address import Address
from convqa.stores.checks import check_folder, refuse_fields
from convqa.stores.embedded import index
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.files import writing
from convqa.stores.embedded.manifest import FORMAT, NAME, Manifest
from convqa.stores.embedded.store import Embedded
from convqa.stores.embedded.writer import LOCK, writer_lock
from convqa.text.analysis import analyzer

_DATA = re.compile("data-[0-9a-f]{12}")
"""The name of a data folder."""


def key(address: Address) -> str:
    return os.path.join(os.getcwd(), address.url)


def identity(address: Address) -> tuple[int, ...] | None:
    """What changes when the folder is committed to or replaced; None where there is nothing."""
    return manifests.identity(address.url)


def is_collection(folder: Path) -> bool:
    """Whether the folder has a manifest that speaks of convqa, and is not one that is being built."""
    try:
        return not _DATA.fullmatch(folder.name) and FORMAT.encode() in (folder / NAME).read_bytes()
    except OSError:
        return False


def open_collection(address: Address) -> Embedded:
    """:raises InputError, StoreDamaged: see :class:`Embedded`."""
    refuse_fields(address)
    return Embedded(Path(address.url))


@contextmanager
def create(
    address: Address, language: str, replace: bool = False, settings: Mapping[str, object] | None = None
) -> Iterator[Embedded]:
    """A new collection, empty at first: it is in place, committed, when the block ends well.

    :raises InputError: if there is something in its place and it is not to be replaced, or is no collection; for any
        setting: this engine takes all at search time.
    :raises WorkError: if another writer is at work on the folder.
    """
    folder = Path(os.path.realpath(address.url))
    change(address, settings or {})
    _check_target(folder, replace)
    is_new = not folder.exists()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = writer_lock(folder)
    try:
        _check_target(folder, replace)
        _remove_builds(folder)
        with _build(folder, language) as store:
            yield store
    finally:
        _remove_builds(folder)
        if is_new and not (folder / NAME).exists():
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


@contextmanager
def _build(folder: Path, language: str) -> Iterator[Embedded]:
    """A store in a data folder of its own, which is put in place when the block ends well."""
    data = folder / f"data-{uuid.uuid4().hex[:12]}"
    with writing(folder):
        data.mkdir()
        index.create(data)
        Manifest(language, analyzer(language).name).write(data)
    store = Embedded(data)
    try:
        yield store
        store.commit()
    finally:
        store.close()
    with writing(folder):
        changed(Manifest.read(data), data=data.name).write(folder)
        for name in (NAME, LOCK):
            (data / name).unlink(missing_ok=True)


def delete(address: Address) -> None:
    """Remove a collection.

    :raises InputError: if the folder is no collection.
    :raises WorkError: if a writer is at work on it.
    """
    folder = Path(os.path.realpath(address.url))
    if not is_collection(folder):
        raise InputError(f"{folder} is not a collection: nothing is deleted.")
    lock = writer_lock(folder)
    try:
        with writing(folder):
            (folder / NAME).unlink()
            shutil.rmtree(folder)
    finally:
        lock.release()


def change(address: Address, settings: Mapping[str, object]) -> None:
    """:raises InputError: for any setting, as this engine takes all at search time."""
    if settings:
        raise InputError(
            f"collection {os.path.realpath(address.url)}: a folder has no settings, since k1 and b are given at search "
            f"time; found {', '.join(sorted(settings))}."
        )


def find(address: Address) -> list[str]:
    """The collections in a folder: itself, or those directly inside."""
    folder = Path(address.url)
    check_folder(folder, "folder")
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [str(path) for path in (folder, *inside) if is_collection(path)]


def _check_target(folder: Path, replace: bool) -> None:
    if is_collection(folder):
        if not replace:
            raise InputError(
                f"collection {folder} exists. Give --add to add to it or --replace to build it anew. "
                f"If only vectors are missing: convqa index --collection {folder} --vectors ENCODER, without passages."
            )
    elif folder.exists() and not _is_free(folder):
        raise InputError(f"{folder} exists and is not a convqa collection: it is left alone. Give another place.")


def _is_free(folder: Path) -> bool:
    """Whether a folder is empty but for what a killed build or deletion left."""
    left = {LOCK, part_of(folder / NAME).name}
    return folder.is_dir() and all(path.name in left or _DATA.fullmatch(path.name) for path in folder.iterdir())


def _remove_builds(folder: Path) -> None:
    """Remove the data folders that the manifest does not name; none while it cannot be read."""
    try:
        current = Manifest.read(folder).data if (folder / NAME).exists() else ""
    except (InputError, StoreDamaged):
        return
    for path in list(folder.iterdir()):
        if _DATA.fullmatch(path.name) and path.name != current:
            shutil.rmtree(path, ignore_errors=True)
