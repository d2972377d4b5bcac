"""Shards: I/N, the part of the work that one of N processes does."""

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
        """:raises InputError: unless the text is I/N."""
        match = re.fullmatch(r"([1-9]\d{0,8})/([1-9]\d{0,8})", text)
        if match is None or int(match[1]) > int(match[2]):
            raise InputError(f"--shard {text}: expected I/N with I from 1 to N, such as 2/8.")
        return cls(int(match[1]), int(match[2]))

    def has(self, index: int) -> bool:
        """Return whether the item at an index, from 0, belongs to this shard."""
        return index % self.count == self.number - 1

    def index_in_run(self, index: int) -> int:
        """Return the index among all items of this shard's item ``index``, from 0."""
        return index * self.count + self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


ALL = Shard()
