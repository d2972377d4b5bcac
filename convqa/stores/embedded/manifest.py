"""manifest.json, which describes a collection's files. Replacing it commits a transaction."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from convqa.errors import INDEX_AGAIN, InputError, StoreDamaged
from convqa.files import whole_file
from convqa.stores.base import Encoder
from convqa.stores.checks import check_folder

NAME = "manifest.json"
FORMAT = "convqa-index"
VERSION = 9

_CORRUPT = OSError, ValueError, LookupError, TypeError, OverflowError
_ADVICE = "Expected a folder made by convqa index."


@dataclass(frozen=True, slots=True)
class VectorState:
    """The vectors of ``count`` passages."""

    encoder: Encoder
    count: int = 0


@dataclass(frozen=True, slots=True)
class CollectionManifest:
    """State of a collection after ``generation`` commits: ``numbers`` passages were added, of which ``count`` are live.

    They have ``terms`` distinct tokens. ``data`` is the subfolder with the ``files`` and the bytes in use of each, of
    which ``checksums`` are the CRC-32.
    ``source`` is the file of the passages of a cached collection.
    """

    language: str
    analyzer: str
    source: str = ""
    data: str = ""
    generation: int = 0
    numbers: int = 0
    terms: int = 0
    count: int = 0
    checksum: str = "0" * 32
    files: dict[str, int] = field(default_factory=dict)
    checksums: dict[str, int] = field(default_factory=dict)
    vectors: VectorState | None = None

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest atomically."""
        record = {"format": FORMAT, "version": VERSION, **asdict(self)}
        with whole_file(folder / NAME) as file:
            file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2))

    @classmethod
    def read(cls, folder: Path) -> CollectionManifest:
        """:raises InputError: if the folder is missing, not a collection, or of another version.
        :raises StoreDamaged: if the manifest is malformed.
        """
        path = folder / NAME
        try:
            with reading(folder):
                content = path.read_bytes()
        except StoreDamaged as error:
            check_folder(folder, "collection", f"Create one with: convqa index SOURCES --collection {folder}")
            raise InputError(
                f"{folder} is not a convqa collection: it has no {NAME}. {_ADVICE} If indexing was interrupted, run it "
                "again."
            ) from error
        data = None
        with suppress(orjson.JSONDecodeError):
            data = orjson.loads(content)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{path} does not belong to a convqa collection. {_ADVICE}")
        if data.get("version") != VERSION:
            raise InputError(
                f"{folder} has collection format {data.get('version')!r}; this version of convqa reads {VERSION}. "
                "Index its passages again with --replace, or use the convqa that made it."
            )
        try:
            return _ADAPTER.validate_python(data)
        except ValidationError as error:
            raise damaged(folder, f"{NAME} is malformed") from error


_ADAPTER = TypeAdapter(CollectionManifest)


def identity(folder: str | Path) -> tuple[int, ...] | None:
    """Return a stamp that changes with every commit or replacement; None without a manifest."""
    try:
        status = os.stat(os.path.join(folder, NAME))
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Raise ``StoreDamaged`` for missing and corrupt files, ``InputError`` for those that this user may not read."""
    try:
        yield
    except PermissionError as error:
        raise InputError(
            f"collection {folder}: {error.filename} cannot be read ({error.strerror}). Make it readable to this user."
        ) from error
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
            raise InputError(
                f"collection {folder}: a writer was killed. Open it once as a user who may write to the folder."
            ) from error
        raise damaged(folder, f"its database cannot be read ({error})") from error
    except _CORRUPT as error:
        raise damaged(folder, f"a file is missing or corrupt ({error})") from error


def damaged(folder: Path, problem: str) -> StoreDamaged:
    return StoreDamaged(f"collection {folder} is damaged: {problem}. {INDEX_AGAIN}")
