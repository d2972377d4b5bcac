"""Shards: I/N, the part of a work that one of N processes does, wherever each of them runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from convqa.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part ``number`` (from 1) of ``count``: every ``count``-th item."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``I/N``.

        :raises InputError: for anything else.
        """
        known = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", text)
        if known is None or int(known[1]) > int(known[2]):
            raise InputError(f"--shard {text}: wanted is I/N with I from 1 to N, such as 2/8.")
        return cls(int(known[1]), int(known[2]))

    def of(self, items: Iterable[T]) -> Iterator[T]:
        """Those items that are this shard's."""
        return islice(items, self.number - 1, None, self.count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


ALL = Shard()
