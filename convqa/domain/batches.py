"""Batches: the values of one wave, passed from node to node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from convqa.domain.answer import Answer, Reading
from convqa.domain.conversation import Turn
from convqa.domain.ranking import Ranking, Rewrite
from convqa.domain.response import Failure


@dataclass(frozen=True, slots=True)
class Batch:
    """Values of one wave, in order. Haystack deep-copies inputs; a batch is immutable and copies as itself."""

    of: ClassVar[type]
    """The type of the values that are not a Failure."""
    items: tuple[Any, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Batch:
        return self

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class Turns(Batch):
    of = Turn
    items: tuple[Turn | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrites(Batch):
    of = Rewrite
    items: tuple[Rewrite | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Rankings(Batch):
    of = Ranking
    items: tuple[Ranking | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Readings(Batch):
    of = Reading
    items: tuple[Reading | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Answers(Batch):
    of = Answer
    items: tuple[Answer | Failure, ...] = ()
