"""Integrity checks: files are compared by CRC-32, passages by the sum of their digests."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Extent:
    """The number of bytes of a file that are in use, and their CRC-32."""

    size: int
    crc32: int


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check: the parts compared, the differences, and the parts without a checksum, in words."""

    compared: str
    problems: tuple[str, ...] = ()
    unchecked: str = ""


def damage(path: Path, extent: Extent) -> str:
    """Describe the damage of a file; "" if it is intact.

    :raises PermissionError: if it may not be read, which is not damage.
    """
    crc, left = 0, extent.size
    try:
        with path.open("rb") as file:
            while left and (piece := file.read(min(left, _PIECE))):
                crc, left = zlib.crc32(piece, crc), left - len(piece)
    except PermissionError:
        raise
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if left:
        return f"has {extent.size - left} of {extent.size} bytes"
    return "" if extent.crc32 == crc else "its checksum does not match"
