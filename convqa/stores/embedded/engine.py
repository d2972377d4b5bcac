"""The embedded engine: a collection is a folder whose manifest names the folder inside it that holds the data.

A build fills a data folder of its own; writing the manifest puts it in place, so that readers see the old collection or
the new one. What a killed build left is removed by the next one. One writer is at work on a folder at a time. Whatever
else lies in a folder is its user's and stays.
"""

from __future__ import annotations

import logging
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace as changed
from pathlib import Path

import orjson

from convqa.errors import InputError, StoreDamaged, WorkError
from convqa.files import part_of
from convqa.stores.address import Address
from convqa.stores.checks import check_folder, refuse_fields
from convqa.stores.embedded import index
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.check import check as check_files
from convqa.stores.embedded.files import writing
from convqa.stores.embedded.manifest import FORMAT, NAME, Manifest
from convqa.stores.embedded.store import Embedded
from convqa.stores.embedded.writer import LOCK, MADE, writer_lock
from convqa.stores.integrity import Check
from convqa.text.analysis import analyzer

logger = logging.getLogger(__name__)

_DATA = re.compile("data-[0-9a-f]{12}")
"""The name of a data folder."""

_COMMON = {NAME, part_of(Path(NAME)).name, LOCK}
"""The names of what convqa makes in both folders. They are nobody's proof: other programs have such names, too."""


def key(address: Address) -> str:
    return os.path.join(os.getcwd(), address.url)


def identity(address: Address) -> tuple[int, ...] | None:
    """A stamp that changes when the folder is committed to or replaced; None where there is nothing."""
    return manifests.identity(address.url)


def is_collection(folder: Path) -> bool:
    """Whether the folder has a manifest of convqa, or data files of convqa and a manifest that cannot be read.

    One that is being built is none.
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
            return any(_made(path) for path in folder.iterdir())
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

    :param settings: ``source``, which the manifest keeps.
    :raises InputError: if there is something in its place and it is not to be replaced, or is no collection; for any
        other setting: this engine takes all at search time.
    :raises WorkError: if another writer is at work on the folder.
    """
    folder = Path(os.path.realpath(address.url))
    others = dict(settings or {})
    source = str(others.pop("source", ""))
    if others:
        raise InputError(
            f"collection {folder}: a folder has no settings, since k1 and b are given at search time; found "
            f"{', '.join(sorted(others))}."
        )
    _check_target(folder, replace)
    is_new = not folder.exists()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = writer_lock(folder)
    try:
        _check_target(folder, replace)
        _remove_builds(folder)
        with _build(folder, language, source) as store:
            yield store
    finally:
        _remove_builds(folder)
        if is_new and not (folder / NAME).exists():
            with suppress(OSError):
                (folder / LOCK).unlink()
                folder.rmdir()
        lock.release()


@contextmanager
def _build(folder: Path, language: str, source: str) -> Iterator[Embedded]:
    """A store in a data folder of its own, which is put in place when the block ends well."""
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


def delete(address: Address) -> None:
    """Remove a collection, or what a killed build or deletion left of one: what convqa made, and nothing else.

    Its folders go too, and the link that the address names, unless something else lies in them.

    :raises InputError: if there is nothing of convqa's in the folder.
    :raises WorkError: if a writer is at work on it, or some of it could not be removed.
    """
    link, folder = Path(address.url), Path(os.path.realpath(address.url))
    check_folder(folder, "collection")
    if not (is_collection(folder) or any(_made(path) for path in folder.iterdir())):
        raise InputError(f"{folder} is not a collection: nothing is deleted.")
    lock = writer_lock(folder)
    try:
        # The manifest first: without it nobody opens what is being removed. The lock last.
        _remove(sorted(_ours(folder), key=lambda path: (path == folder / LOCK, path != folder / NAME)))
    except OSError as error:
        raise WorkError(
            f"collection {folder} is deleted only in part, or not at all: {error.filename} cannot be removed "
            f"({error.strerror}). See to that, then give the command again."
        ) from error
    finally:
        lock.release()
    try:
        folder.rmdir()
        if link.is_symlink():
            link.unlink()
    except OSError as error:
        left = _left(folder) if folder.is_dir() else ""
        logger.warning("%s stays: %s", folder, f"not convqa's: {left}" if left else error.strerror)


def check(address: Address) -> Check:
    """:raises InputError: see :func:`convqa.stores.embedded.check.check`."""
    return check_files(Path(address.url))


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
    return folder.is_dir() and set(folder.iterdir()) <= set(_ours(folder))


def _ours(folder: Path) -> list[Path]:
    """The paths that convqa made in a folder and in the data folders in it, each folder behind its content."""
    common = _COMMON if is_collection(folder) else _COMMON - {NAME}
    return [made for path in folder.iterdir() for made in ([path] if path.name in common else _made(path))]


def _made(data: Path) -> list[Path]:
    """The paths that convqa made in a data folder, the folder last; none in one that only has such a name."""
    if not _DATA.fullmatch(data.name) or data.is_symlink() or not data.is_dir():
        return []
    inside = sorted(data.rglob("*"), reverse=True)
    made = [path for path in inside if MADE.fullmatch(path.relative_to(data).as_posix())]
    common = [data / name for name in _COMMON if data / name in inside]
    return [*made, *common, data] if made or not inside else []


def _left(folder: Path) -> str:
    """The first names in a folder and in its data folders."""
    paths = [*folder.glob("*"), *folder.glob("data-*/*")]
    return ", ".join(sorted(str(path.relative_to(folder)) for path in paths)[:5])


def _remove_builds(folder: Path) -> None:
    """Remove the data folders that the manifest does not name; none while it cannot be read."""
    try:
        current = Manifest.read(folder).data if (folder / NAME).exists() else ""
    except (InputError, StoreDamaged):
        return
    try:
        for data in list(folder.iterdir()):
            if data.name != current and (made := _made(data)):
                _remove(made)
                if data.exists():
                    logger.warning("%s stays: not convqa's: %s", data, _left(data))
    except OSError as error:
        logger.warning(
            "collection %s: files of an earlier one stay: %s cannot be removed (%s)",
            folder, error.filename, error.strerror,
        )  # fmt: skip


def _remove(paths: Iterable[Path]) -> None:
    """Remove files, and folders in which nothing else is left."""
    for path in paths:
        if not path.is_dir() or path.is_symlink():
            path.unlink(missing_ok=True)
        elif not any(path.iterdir()):
            path.rmdir()
