"""JSON lines of a shared task: read one by one, checked; and how such tasks name turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import BaseModel, ConfigDict

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.validation import read_as


class Record(BaseModel):
    """A record of a file that others may have written: fields that are not named here are passed over."""

    model_config = ConfigDict(strict=True)


Shape = TypeVar("Shape", bound=Record)


def read_records(path: Path, shape: type[Shape], wanted: str) -> Iterator[tuple[str, Shape]]:
    """The records of a file, each with its place for messages; empty lines are passed over.

    :raises InputError: naming the line that is not ``wanted``.
    """
    for number, line in enumerate(raw_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(f"{where} is no JSON ({error}); wanted {wanted}.") from None
        yield where, read_as(shape, found, where, f"Wanted is {wanted}.")


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, without their line feeds.

    :raises InputError: if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            for line in file:
                yield line.removesuffix(b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None


def turn_named(name: str | int) -> TurnId:
    """The turn of this name: ``CONVERSATION_NUMBER``, as ``str(TurnId)`` makes it; else a conversation's only turn.

    Digits are a number: the conversation "12" comes back as 12.

    >>> turn_named("12_3"), turn_named("2024-1"), turn_named("a_b_2").conversation
    (TurnId(conversation=12, number=3), TurnId(conversation='2024-1', number=1), 'a_b')
    """
    conversation, separator, number = str(name).rpartition("_")
    if not separator or _whole(number) is None:
        conversation, number = str(name), "1"
    whole = _whole(conversation)
    return TurnId(conversation if whole is None else whole, int(number))


def _whole(text: str) -> int | None:
    """The whole number that is written exactly so."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 20 and str(int(text)) == text:
        return int(text)
    return None
