"""Shards: I/N, the part of the work that one of N processes does, wherever each of them runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from convqa.errors import InputError


@dataclass(frozen=True, slots=True)
class Shard:
    """Part ``number`` (from 1) of ``count``: every ``count``-th item."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """:raises InputError: for what is not I/N."""
        known = re.fullmatch(r"([1-9]\d{0,8})/([1-9]\d{0,8})", text)
        if known is None or int(known[1]) > int(known[2]):
            raise InputError(f"--shard {text}: wanted is I/N with I from 1 to N, such as 2/8.")
        return cls(int(known[1]), int(known[2]))

    def has(self, place: int) -> bool:
        """Whether the item at a place, from 0, is of this shard."""
        return place % self.count == self.number - 1

    def place(self, index: int) -> int:
        """The place of this shard's own item ``index``, from 0, among all items."""
        return index * self.count + self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


ALL = Shard()
