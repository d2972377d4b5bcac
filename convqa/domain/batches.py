"""Batches: the values of one wave, passed from node to node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from convqa.domain.answer import Answer, Reading
from convqa.domain.conversation import Turn
from convqa.domain.ranking import Ranking, Rewrite


@dataclass(frozen=True, slots=True)
class Batch:
    """Values of one wave, in order. Haystack deep-copies inputs; a batch is immutable and copies as itself."""

    of: ClassVar[type]
    """The type of the items that are no ``Failure``."""
    items: tuple[Any, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Batch:
        return self

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Turns(Batch):
    __slots__ = ()
    of = Turn


class Rewrites(Batch):
    __slots__ = ()
    of = Rewrite


class Rankings(Batch):
    __slots__ = ()
    of = Ranking


class Readings(Batch):
    __slots__ = ()
    of = Reading


class Answers(Batch):
    __slots__ = ()
    of = Answer
