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

from convqa.errors import InputError, StoreDamaged, WorkError
from convqa.files import part_of
from convqa.stores.address import Address
from convqa.stores.base import Check
from convqa.stores.checks import check_folder, refuse_fields
from convqa.stores.content import checksum, digest
from convqa.stores.embedded import database, index
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.database import Database
from convqa.stores.embedded.files import Damage, Extent, damage, writing
from convqa.stores.embedded.manifest import FORMAT, NAME, CollectionManifest
from convqa.stores.embedded.store import FolderStore
from convqa.stores.embedded.writer import LOCK, writer_lock
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

_DATA = re.compile("data-[0-9a-f]{12}")
_TANTIVY_FILE = re.compile(r"[0-9a-f]{32}\..+")
_TANTIVY_FOOTER = struct.Struct("<II")
_TANTIVY_MAGIC = 1337


def identity(address: Address) -> tuple[int, ...] | None:
    return manifests.identity(address.url)


def is_collection(folder: Path) -> bool:
    """Return whether a folder has convqa's manifest, or another one beside convqa's data.

    A collection that is being built does not count.
    """
    if _DATA.fullmatch(folder.name):
        return False
    try:
        manifest = (folder / NAME).read_bytes()
    except PermissionError:
        manifest = b""
    except OSError:
        return False
    return FORMAT.encode() in manifest or bool(_data_folders(folder))


def open_collection(address: Address) -> FolderStore:
    refuse_fields(address)
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
        if is_collection(folder):
            (folder / NAME).unlink()
        for data in _data_folders(folder):
            shutil.rmtree(data)
        for path in _helpers(folder):
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
    """Compare every passage and every file of a collection with its checksum.

    :raises InputError: if the collection does not exist or a file is not readable.
    """
    folder = Path(address.url)
    state = CollectionManifest.read(folder)
    data = folder / state.data
    with manifests.reading(folder):
        problems = _damaged_passages(data, state)
        extents: dict[str, Extent | None] = dict(state.files)
        for path in sorted((data / index.FOLDER).glob("*")):
            if _TANTIVY_FILE.fullmatch(path.name):
                extents[f"{index.FOLDER}/{path.name}"] = _tantivy_extent(path)
        for name, extent in extents.items():
            problem = "its footer is malformed" if extent is None else damage(data / name, extent)
            if problem:
                problems.append(f"{name}: {problem}")
    return Check(f"{state.count} passages and {len(extents)} files", tuple(problems))


def _damaged_passages(data: Path, state: CollectionManifest) -> list[str]:
    """Describe the damage of the database, passage by passage."""
    problems = []
    total = 0
    try:
        passages = Database(data)
        for (problem,) in passages.rows("PRAGMA integrity_check"):
            if problem != "ok":
                problems.append(f"{database.NAME}: {problem}")
        deleted = set(passages.deleted(state.generation))
        for number in range(state.numbers):
            rows = passages.rows("SELECT id, checksum, content FROM passages WHERE number = ?", number)
            for id, expected, content in rows:
                content_digest = digest(content)
                if checksum(content_digest) != expected:
                    problems.append(f"{database.NAME}: the checksum of passage {id!r} does not match")
                if number not in deleted:
                    total += content_digest
    except FileNotFoundError:
        return [f"{database.NAME}: is missing"]
    except (Damage, ValueError, TypeError) as error:
        return [*problems, str(error)]
    if checksum(total) != state.checksum and not problems:
        problems.append(f"{database.NAME}: its passages differ from the collection's checksum")
    return problems


def _tantivy_extent(path: Path) -> Extent | None:
    """Read the footer of a segment file: a line of JSON, its length and a magic number. None if malformed."""
    try:
        with path.open("rb") as file:
            file.seek(-_TANTIVY_FOOTER.size, os.SEEK_END)
            length, magic = _TANTIVY_FOOTER.unpack(file.read())
            start = file.seek(-_TANTIVY_FOOTER.size - length, os.SEEK_END)
            return Extent(start, json.loads(file.read(length))["crc"]) if magic == _TANTIVY_MAGIC else None
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
    elif folder.exists() and not (
        folder.is_dir() and {*folder.iterdir()} <= {*_data_folders(folder), *_helpers(folder)}
    ):
        raise InputError(f"{folder} exists and is not a convqa collection. Choose another folder.")


def _helpers(folder: Path) -> list[Path]:
    """Return the files of a writer. Other programs use their names too, so they prove nothing."""
    return [part_of(folder / NAME), folder / LOCK]


def _data_folders(folder: Path) -> list[Path]:
    """Return the data folders in a folder: they have an index of tantivy, or are empty after a kill."""
    found = []
    for path in folder.iterdir():
        if _DATA.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            names = {inside.name for inside in path.iterdir()}
            if index.FOLDER in names or not names:
                found.append(path)
    return found


def _remove_builds(folder: Path) -> None:
    """Remove data folders that the manifest does not name, unless it is unreadable."""
    try:
        current = CollectionManifest.read(folder).data if (folder / NAME).exists() else ""
    except (InputError, StoreDamaged):
        return
    try:
        for data in _data_folders(folder):
            if data.name != current:
                shutil.rmtree(data)
    except OSError as error:
        logger.warning("%s cannot be removed (%s) from collection %s", error.filename, error.strerror, folder)
