"""The place of a collection: a folder that is made aside, put in place whole, and found again after a kill.

``NAME.tmp-*`` beside a collection NAME is a build at work, what a killed build left, or a whole copy: the old one or
the new one of a replacement. A whole copy has no ``building.lock``. Both steps of a replacement are renames, so another
process that finds NAME missing may finish it: each learns by its rename whether the other was faster.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from convqa.errors import InputError, StoreDamaged
from convqa.files import sync_directory
from convqa.stores.address import Address
from convqa.stores.embedded import index
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.files import writing
from convqa.stores.embedded.manifest import FORMAT, NAME, Identity, Manifest
from convqa.stores.embedded.snapshot import Snapshot
from convqa.stores.embedded.store import Embedded
from convqa.stores.embedded.writer import LOCK
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

_BUILDING = "building.lock"
_ASIDE = ".tmp-"
_BEGINNING = 60
"""Seconds."""
_TRIES = 3


def key(address: Address) -> str:
    return os.path.join(os.getcwd(), address.url)


def identity(address: Address) -> Identity | None:
    """What changes when the folder is committed to or replaced; None where there is nothing.

    What a replacement that was killed between its renames left beside the place is taken back first.
    """
    found = manifests.identity(address.url)
    if found is None and _take_back(Path(os.path.realpath(address.url))):
        return manifests.identity(address.url)
    return found


def is_collection(folder: Path) -> bool:
    """Whether the folder has a manifest that speaks of convqa, and is not one that is being built or replaced."""
    try:
        return _ASIDE not in folder.name and FORMAT.encode() in (folder / NAME).read_bytes()
    except OSError:
        return False


def open_collection(address: Address) -> Embedded:
    """:raises InputError, StoreDamaged: see :class:`Embedded`."""
    url = address.url
    if address.fields is not None:
        raise InputError(f"collection {url}: a folder made by convqa index has its own fields; leave fields out.")
    for _ in range(_TRIES - 1):
        try:
            return Embedded(Path(url))
        except (InputError, StoreDamaged):
            # It may have been between the renames of a replacement.
            if identity(address) is None:
                break
    return Embedded(Path(url))


@contextmanager
def create(
    address: Address, language: str, replace: bool = False, settings: Mapping[str, object] | None = None
) -> Iterator[Embedded]:
    """A new collection, empty at first: built aside, committed and renamed into place when the block ends well.

    :raises InputError: if there is something in its place and it is not to be replaced, or is no collection; for any
        setting: this engine takes all at search time.
    """
    folder = Path(os.path.realpath(address.url))
    _no_settings(folder, settings)
    _take_back(folder)
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
        _remove(aside)


def delete(address: Address) -> None:
    """Remove a collection and what builds left beside it.

    :raises InputError: if the folder is no collection.
    """
    folder = Path(os.path.realpath(address.url))
    _take_back(folder)
    if not is_collection(folder):
        raise InputError(f"{folder} is not a collection: nothing is deleted.")
    with writing(folder):
        _remove(folder)
    _sweep(folder)


def change(address: Address, settings: Mapping[str, object]) -> None:
    """:raises InputError: always, as this engine takes all settings at search time."""
    _no_settings(Path(os.path.realpath(address.url)), settings)


def find(address: Address) -> list[str]:
    """The collections in a folder: itself, or those directly inside."""
    folder = Path(address.url)
    if not folder.is_dir():
        raise InputError(
            f"{folder} is a file, not a folder." if folder.exists() else f"folder {folder} does not exist."
        )
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [str(path) for path in (folder, *inside) if is_collection(path)]


def _no_settings(folder: Path, settings: Mapping[str, object] | None) -> None:
    if settings:
        raise InputError(
            f"collection {folder}: a folder has no settings, since k1 and b are given at search time; found "
            f"{', '.join(sorted(settings))}."
        )


def _check_target(folder: Path, replace: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / NAME).exists():
        raise InputError(f"{folder} exists and is not a convqa collection: it is left alone. Give another place.")
    if not replace:
        raise InputError(
            f"collection {folder} exists. Give --add to add to it or --replace to build it anew. "
            f"If only vectors are missing: convqa index --collection {folder} --vectors ENCODER, without passages."
        )


def _put(aside: Path, folder: Path) -> None:
    """Put a finished build in the folder's place.

    Between the renames another process may take the new or the old copy back, or put a build of its own there.
    """
    made = manifests.identity(aside)
    for lock in (LOCK, _BUILDING):
        (aside / lock).unlink(missing_ok=True)
    while manifests.identity(aside) == made:
        old = _beside(folder)
        with suppress(FileNotFoundError):
            folder.rename(old)
        if manifests.identity(old) == made:
            aside = old
            continue
        try:
            aside.rename(folder)
        except OSError:
            if aside.exists() and not folder.exists():
                raise
        _remove(old)
    sync_directory(folder.parent)


def _take_back(folder: Path) -> bool:
    """Where a folder is missing, put the newest whole copy beside it in its place.

    :raises StoreDamaged: if there is one and it cannot be renamed.
    """
    if os.path.lexists(folder):
        return False
    for copy in sorted((copy for copy in _copies(folder) if _is_whole(copy)), key=_age):
        try:
            copy.rename(folder)
        except OSError as error:
            # Somebody else was faster, or it cannot be done.
            if copy.exists() and not folder.exists():
                raise StoreDamaged(
                    f"collection {folder} is missing; {copy.name} beside it is a whole copy, which cannot be renamed "
                    f"({error.strerror}). Rename it to {folder.name}."
                ) from error
        else:
            logger.warning("collection %s was not there: its newest whole copy, %s, was taken", folder, copy.name)
        return True
    return False


def _age(copy: Path) -> float:
    """Smaller for what was committed later."""
    found = manifests.identity(copy)
    return -found[0] if found else 0


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{_ASIDE}{uuid.uuid4().hex[:12]}")


def _copies(folder: Path) -> list[Path]:
    """What lies beside a folder under its name."""
    try:
        return [path for path in folder.parent.iterdir() if path.name.startswith(f"{folder.name}{_ASIDE}")]
    except OSError:
        return []


def _is_whole(copy: Path) -> bool:
    if (copy / _BUILDING).exists():
        return False
    try:
        return Snapshot.open(copy).manifest.generation > 0
    except (InputError, StoreDamaged):
        return False


def _sweep(folder: Path) -> None:
    """Remove what killed builds left beside a folder, but never the last whole collection.

    A build that is at work holds its lock, or is just beginning.
    """
    for copy in _copies(folder):
        with suppress(Timeout, OSError):
            if copy.stat().st_mtime > time.time() - _BEGINNING:
                continue
            if (copy / _BUILDING).exists():
                with FileLock(copy / _BUILDING, timeout=0):
                    pass
            if folder.exists() or not _is_whole(copy):
                _remove(copy)


def _remove(copy: Path) -> None:
    """Remove a copy, its manifest first: what is left by a kill must not look whole."""
    with suppress(OSError):
        (copy / NAME).unlink()
    shutil.rmtree(copy, ignore_errors=True)
