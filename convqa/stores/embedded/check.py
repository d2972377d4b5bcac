"""Integrity check of a collection's folder: its files and tantivy's."""

from __future__ import annotations

import json
import os
import re
import struct
from pathlib import Path

from convqa.stores.address import Address
from convqa.stores.base import Check
from convqa.stores.embedded import index, manifest
from convqa.stores.embedded.files import Extent, damage

_SEGMENT = re.compile(r"[0-9a-f]{32}\..+")
_FOOTER = struct.Struct("<II")
_MAGIC = 1337


def check(address: Address) -> Check:
    """Read every file of a collection.

    :raises InputError: if there is no collection, or a file may not be read.
    """
    folder = Path(address.url)
    state = manifest.Manifest.read(folder)
    data = folder / state.data
    files = state.files | ({} if state.vectors is None else state.vectors.files)
    try:
        problems = {name: damage(data / name, extent) for name, extent in files.items()}
        for path in sorted(path for path in (data / index.FOLDER).glob("*") if _SEGMENT.fullmatch(path.name)):
            extent = _tantivy_extent(path)
            problems[f"{index.FOLDER}/{path.name}"] = damage(path, extent) if extent else "its footer is malformed"
    except PermissionError as error:
        raise manifest.unreadable(folder, error) from error
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
