"""The embedded engine: a collection is a folder with a manifest, which names a data folder inside it.

A build fills a new data folder; then writing the manifest replaces the collection atomically. The next build removes
what a killed one left. A folder has one writer at a time. Other files and folders in it are never removed.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import struct
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace as changed
from pathlib import Path

import orjson

from convqa.errors import InputError, StoreDamaged, WorkError
from convqa.files import part_of
from convqa.stores.address import Address
from convqa.stores.base import Check
from convqa.stores.checks import check_folder, refuse_fields
from convqa.stores.embedded import index
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.files import Extent, damage, writing
from convqa.stores.embedded.manifest import FORMAT, NAME, Manifest
from convqa.stores.embedded.store import Embedded
from convqa.stores.embedded.writer import LOCK, writer_lock
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

_DATA = re.compile("data-[0-9a-f]{12}")
_SEGMENT = re.compile(r"[0-9a-f]{32}\..+")
_FOOTER = struct.Struct("<II")
_MAGIC = 1337
_COMMON = {NAME, part_of(Path(NAME)).name, LOCK}
"""File names that convqa uses in both folders. Other programs use them too, so they prove nothing."""


def identity(address: Address) -> tuple[int, ...] | None:
    return manifests.identity(address.url)


def is_collection(folder: Path) -> bool:
    """Return whether a folder has convqa's manifest, or an unreadable manifest and convqa's data.

    A collection that is being built does not count.
    """
    if _DATA.fullmatch(folder.name):
        return False
    with suppress(OSError):
        try:
            manifest = (folder / NAME).read_bytes()
            if FORMAT.encode() in manifest:
                return True
            orjson.loads(manifest)
        except (PermissionError, orjson.JSONDecodeError):
            return bool(_data_folders(folder))
    return False


def open_collection(address: Address) -> Embedded:
    refuse_fields(address)
    return Embedded(Path(address.url))


@contextmanager
def create(
    address: Address, language: str, replace: bool = False, settings: Mapping[str, object] | None = None
) -> Iterator[Embedded]:
    """Create a collection, which appears when the block succeeds.

    :param settings: ``source``, which is recorded in the manifest.
    :raises InputError: if the folder holds a collection and ``replace`` is false, or other files; for any other
        setting, because k1 and b are given at search time.
    :raises WorkError: if another writer holds the folder.
    """
    folder = Path(os.path.realpath(address.url))
    unknown = dict(settings or {})
    source = str(unknown.pop("source", ""))
    if unknown:
        raise InputError(
            f"collection {folder}: expected no settings, because k1 and b are given at search time; got "
            f"{', '.join(sorted(unknown))}."
        )
    _check_target(folder, replace)
    is_new = not folder.exists()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = writer_lock(folder)
    try:
        _check_target(folder, replace)
        _remove_builds(folder)
        data = folder / f"data-{uuid.uuid4().hex[:12]}"
        with writing(folder):
            data.mkdir()
            index.create(data)
            Manifest(language, analyzer(language).name, source).write(data)
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
    finally:
        _remove_builds(folder)
        if is_new and not (folder / NAME).exists():
            with suppress(OSError):
                (folder / LOCK).unlink()
                folder.rmdir()
        lock.release()


def delete(address: Address) -> None:
    """Delete a collection, or the remains of a killed build or deletion.

    Other files are kept. A link to the folder is removed with it.

    :raises InputError: if the folder holds nothing of convqa's.
    :raises WorkError: if a writer holds it, or a file cannot be removed.
    """
    link, folder = Path(address.url), Path(os.path.realpath(address.url))
    check_folder(folder, "collection")
    if not (is_collection(folder) or _data_folders(folder)):
        raise InputError(f"{folder} is not a collection: nothing is deleted.")
    lock = writer_lock(folder)
    try:
        # The manifest first, so that no reader opens the rest. The lock last.
        for path in sorted(_own_paths(folder), key=lambda path: (path.name == LOCK, path.name != NAME)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise WorkError(
            f"collection {folder} was not deleted completely: {error.filename} cannot be removed ({error.strerror}). "
            "Fix that and run the command again."
        ) from error
    finally:
        lock.release()
    try:
        folder.rmdir()
        if link.is_symlink():
            link.unlink()
    except OSError as error:
        logger.warning("%s is kept: %s", folder, error.strerror)


def find(address: Address) -> list[str]:
    """Return the collections among a folder and its direct subfolders."""
    folder = Path(address.url)
    check_folder(folder, "folder")
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [str(path) for path in (folder, *inside) if is_collection(path)]


def check(address: Address) -> Check:
    """Read every file of a collection.

    :raises InputError: if the collection does not exist or a file is not readable.
    """
    folder = Path(address.url)
    state = Manifest.read(folder)
    data = folder / state.data
    files = state.files | ({} if state.vectors is None else state.vectors.files)
    try:
        problems = {name: damage(data / name, extent) for name, extent in files.items()}
        for path in sorted(path for path in (data / index.FOLDER).glob("*") if _SEGMENT.fullmatch(path.name)):
            extent = _tantivy_extent(path)
            problems[f"{index.FOLDER}/{path.name}"] = damage(path, extent) if extent else "its footer is malformed"
    except PermissionError as error:
        raise manifests.unreadable(folder, error) from error
    listed = tuple(f"{name}: {problem}" for name, problem in problems.items() if problem)
    return Check(f"{len(problems)} files", listed)


def _tantivy_extent(path: Path) -> Extent | None:
    """Read the footer of a segment file: a line of JSON, its length and a magic number. None if malformed."""
    try:
        with path.open("rb") as file:
            file.seek(-_FOOTER.size, os.SEEK_END)
            length, magic = _FOOTER.unpack(file.read())
            start = file.seek(-_FOOTER.size - length, os.SEEK_END)
            return Extent(start, json.loads(file.read(length))["crc"]) if magic == _MAGIC else None
    except PermissionError:
        raise
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _check_target(folder: Path, replace: bool) -> None:
    if is_collection(folder):
        if not replace:
            raise InputError(
                f"collection {folder} exists. Give --add to add to it or --replace to rebuild it. "
                f"If only vectors are missing: convqa index --collection {folder} --vectors ENCODER, without passages."
            )
    elif folder.exists() and not (folder.is_dir() and set(folder.iterdir()) <= _own_paths(folder)):
        raise InputError(f"{folder} exists and is not a convqa collection. Choose another folder.")


def _own_paths(folder: Path) -> set[Path]:
    """Return the paths in a folder that convqa created."""
    names = _COMMON if is_collection(folder) else _COMMON - {NAME}
    return {*(folder / name for name in names), *_data_folders(folder)}


def _data_folders(folder: Path) -> list[Path]:
    """Return the data folders in a folder: they have an index of tantivy, or are empty after a kill."""
    named = [path for path in folder.iterdir() if _DATA.fullmatch(path.name) and not path.is_symlink()]
    return [path for path in named if path.is_dir() and ((path / index.FOLDER).is_dir() or not any(path.iterdir()))]


def _remove_builds(folder: Path) -> None:
    """Remove data folders that the manifest does not name, unless it is unreadable."""
    try:
        current = Manifest.read(folder).data if (folder / NAME).exists() else ""
    except (InputError, StoreDamaged):
        return
    try:
        for data in _data_folders(folder):
            if data.name != current:
                shutil.rmtree(data)
    except OSError as error:
        logger.warning("%s cannot be removed (%s) from collection %s", error.filename, error.strerror, folder)
