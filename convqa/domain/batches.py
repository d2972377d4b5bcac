"""Values of one wave: what goes from node to node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from convqa.domain.answer import Answer, Reading
from convqa.domain.conversation import Turn
from convqa.domain.ranking import Ranking, Rewrite
from convqa.domain.response import Failure


class _Batch:
    """Values of one wave, in order. Haystack deep-copies inputs; these are immutable and copy as themselves."""

    __slots__ = ()
    items: tuple[Any, ...]

    def __deepcopy__(self, memo: dict[int, Any]) -> _Batch:
        return self

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class Turns(_Batch):
    items: tuple[Turn | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrites(_Batch):
    items: tuple[Rewrite | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Rankings(_Batch):
    items: tuple[Ranking | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Readings(_Batch):
    items: tuple[Reading | Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Answers(_Batch):
    items: tuple[Answer | Failure, ...] = ()
