"""Stored form of a passage, the same in every engine: content, digest and meta terms."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import orjson

from convqa.domain import MetaField, MetaValue, Passage
from convqa.errors import InputError
from convqa.validation import shorten

CHECKSUMS = 2**128
"""A collection's checksum is the sum of its passages' digests modulo this, independent of their order."""

MOST_BYTES = 2**20
"""Maximum size of a passage's content."""


def content(passage: Passage) -> bytes:
    """Return a passage as one line of JSON with sorted keys: equal for equal passages.

    :raises InputError: for an empty id, a value that JSON lacks, or more than 1 MB.
    """
    if not passage.id:
        raise InputError(f"a passage has an empty id (text {shorten(passage.text)}); expected a unique id")
    try:
        data = orjson.dumps(passage.to_json(), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise InputError(f"passage {passage.id!r} cannot be stored: {error}") from error
    if len(data) > MOST_BYTES:
        raise InputError(
            f"passage {shorten(passage.id)}: expected at most {MOST_BYTES:,} bytes (1 MB), got {len(data):,}: split it "
            "into several passages"
        )
    return data


def digest(data: bytes) -> int:
    """Return a 128-bit digest of a passage's content."""
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "little")


def meta_term(name: str, value: MetaValue) -> str:
    """Return the index term of a meta value. 1 and 1.0 share a term; 1, "1" and True do not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return blake2b(repr((name, value)).encode(), digest_size=8).hexdigest()


def terms_of(meta: Mapping[str, MetaField]) -> list[str]:
    """Return the index terms of a passage's meta, one for each value of a list.

    >>> terms_of({"team": ["law", "tax"]}) == [meta_term("team", "law"), meta_term("team", "tax")]
    True
    """
    several = {name: value if isinstance(value, list | tuple) else [value] for name, value in meta.items()}
    return [meta_term(name, value) for name, values in several.items() for value in values]


def meta_terms(filter: Mapping[str, tuple[MetaValue, ...]]) -> tuple[tuple[str, ...], ...]:
    """Return a filter as groups of terms, of each of which a passage needs one. Equivalent filters are equal.

    >>> meta_terms({"year": (2001, 2002), "old": (True,)}) == meta_terms({"old": (True,), "year": (2002, 2001.0)})
    True
    >>> meta_terms({"old": (True,)}) == meta_terms({"old": (1,)})
    False
    """
    groups = ({meta_term(name, value) for value in values} for name, values in filter.items())
    return tuple(sorted(tuple(sorted(terms)) for terms in groups))


def checksum(total: int) -> str:
    """Format a sum of digests as 32 hexadecimal digits."""
    return f"{total % CHECKSUMS:032x}"


def duplicate(stored: str, passage: Passage) -> InputError:
    """Return the error for an id whose stored text differs."""
    return InputError(
        f"two passages have the id {passage.id!r}: {shorten(stored)} and {shorten(passage.text)}. Expected unique ids: "
        "rename or delete one."
    )
