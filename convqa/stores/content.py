"""A passage as every store keeps it: its content, digest and meta terms, by which collections can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import orjson

from convqa.domain import MetaValue, Passage
from convqa.errors import DuplicatePassage, InputError
from convqa.validation import shorten

CHECKSUMS = 2**128
"""A checksum is the sum of the passages' digests modulo this: the same in every store, whatever the order."""


MOST_BYTES = 2**20
"""Of a passage's content. What is longer is a document, of which nobody can be shown a place."""


def content(passage: Passage) -> bytes:
    """One line of JSON with sorted keys: equal for equal passages.

    :raises InputError: for an empty id, a value that JSON has not, or more than 1 MB.
    """
    if not passage.id:
        raise InputError(f"a passage has an empty id (text {shorten(passage.text)}); wanted: a name of its own")
    try:
        data = orjson.dumps(passage.to_json(), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise InputError(f"passage {passage.id!r} cannot be stored: {error}") from error
    if len(data) > MOST_BYTES:
        raise InputError(
            f"passage {shorten(passage.id)} has {len(data):,} bytes; wanted at most {MOST_BYTES:,} (1 MB): cut it "
            "into several passages"
        )
    return data


def digest(data: bytes) -> int:
    """128 bits of a passage's content."""
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "little")


def meta_term(name: str, value: MetaValue) -> str:
    """The term that the index holds for a meta field's value: 1 and 1.0 are the same, 1, "1" and True are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return blake2b(repr((name, value)).encode(), digest_size=8).hexdigest()


def meta_terms(filter: Mapping[str, tuple[MetaValue, ...]]) -> tuple[tuple[str, ...], ...]:
    """The terms of a filter: a passage needs one of each group. Filters that mean the same give the same terms.

    >>> meta_terms({"year": (2001, 2002), "old": (True,)}) == meta_terms({"old": (True,), "year": (2002, 2001.0)})
    True
    >>> meta_terms({"old": (True,)}) == meta_terms({"old": (1,)})
    False
    """
    return tuple(sorted(tuple(sorted({meta_term(name, value) for value in filter[name]})) for name in filter))


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
