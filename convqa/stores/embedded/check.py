"""Whether a collection's folder holds what was written: its files, tantivy's, and the sum of its passages' digests."""

from __future__ import annotations

import json
import os
import re
import struct
from pathlib import Path

from convqa.errors import StoreDamaged
from convqa.stores.content import checksum, content, digest
from convqa.stores.embedded import index
from convqa.stores.embedded import manifest as manifests
from convqa.stores.embedded.manifest import Manifest
from convqa.stores.embedded.search import Snapshot
from convqa.stores.integrity import Check, Extent, damage

_SEGMENT = re.compile(r"[0-9a-f]{32}\..+")
_END = struct.Struct("<II")
_MARK = 1337


def check(folder: Path) -> Check:
    """Read every file of a collection; one that is committed to or replaced meanwhile is read again.

    :raises InputError: if there is none, or a file of it may not be read.
    """
    while True:
        before = manifests.identity(folder)
        try:
            found = _check(folder, Manifest.read(folder))
        except PermissionError as error:
            raise manifests.unreadable(folder, error) from error
        if manifests.identity(folder) == before:
            return found


def _check(folder: Path, manifest: Manifest) -> Check:
    data = folder / manifest.data
    files = manifest.files | ({} if manifest.vectors is None else manifest.vectors.files)
    problems = {name: damage(data / name, extent) for name, extent in files.items()}
    for path in sorted(path for path in (data / index.FOLDER).glob("*") if _SEGMENT.fullmatch(path.name)):
        written = _written(path)
        problems[f"{index.FOLDER}/{path.name}"] = (
            damage(path, written) if written else "it does not end as tantivy's do"
        )
    listed = [f"{name}: {problem}" for name, problem in problems.items() if problem]
    if listed:
        return Check(f"{len(problems)} files", tuple(listed))
    return Check(f"{len(problems)} files and {manifest.count} passages", tuple(_passages(folder, manifest)))


def _written(path: Path) -> Extent | None:
    """Tantivy's footer of a segment's file: a line of JSON, its length and a mark at the end."""
    try:
        with path.open("rb") as file:
            file.seek(-_END.size, os.SEEK_END)
            length, mark = _END.unpack(file.read())
            start = file.seek(-_END.size - length, os.SEEK_END)
            return Extent(start, json.loads(file.read(length))["crc"]) if mark == _MARK else None
    except PermissionError:
        raise
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _passages(folder: Path, manifest: Manifest) -> list[str]:
    """The faults of the passages, and whatever keeps them from being read."""
    count = sum = 0
    try:
        for passage in Snapshot(folder, manifest).scan():
            count, sum = count + 1, sum + digest(content(passage))
    except StoreDamaged as error:
        return [str(error)]
    except (OSError, ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        return [f"passages cannot be read ({error})"]
    if (count, checksum(sum)) == (manifest.count, manifest.checksum):
        return []
    return [
        f"{count} passages with the checksum {checksum(sum)}; written were {manifest.count} with {manifest.checksum}"
    ]
