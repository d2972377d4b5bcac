"""A passage as it is stored, and the digest that a collection's checksum sums."""

from __future__ import annotations

from hashlib import blake2b

import orjson

from convqa.domain import Passage
from convqa.errors import DuplicatePassage, InputError
from convqa.validation import shorten

CHECKSUMS = 2**128
"""A checksum is the sum of the passages' digests modulo this: the same in every store, whatever the order."""


def content(passage: Passage) -> bytes:
    """One line of JSON with sorted keys: equal for equal passages.

    :raises InputError: for an empty id, or a value that JSON has not.
    """
    if not passage.id:
        raise InputError(f"a passage has an empty id (text {shorten(passage.text)}); wanted: a name of its own")
    try:
        return orjson.dumps(passage.to_json(), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise InputError(f"passage {passage.id!r} cannot be stored: {error}") from error


def digest(data: bytes) -> int:
    """128 bits of a passage's content."""
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "little")


def checksum(total: int) -> str:
    """The sum of digests as it is shown: 32 hexadecimal digits."""
    return f"{total % CHECKSUMS:032x}"


def duplicate(stored: str, passage: Passage) -> DuplicatePassage:
    """The error for an id that is there with another content. ``stored``: the text that is there."""
    return DuplicatePassage(
        f"two passages have the id {passage.id!r}: {shorten(stored)} and {shorten(passage.text)}. "
        "Wanted: one passage for each id; rename one, or delete one.",
        passage.id,
    )
