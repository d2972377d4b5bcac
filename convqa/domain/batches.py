"""Values of one wave: what goes from node to node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

    def to_json(self) -> list[Any]:
        return [{"failure": item.to_json()} if isinstance(item, Failure) else item.to_json() for item in self.items]


def _read_items(data: Sequence[Any], read: Any) -> tuple[Any, ...]:
    return tuple(
        Failure.from_json(item["failure"]) if isinstance(item, Mapping) and "failure" in item else read(item)
        for item in data
    )


@dataclass(frozen=True, slots=True)
class Turns(_Batch):
    items: tuple[Turn | Failure, ...] = ()

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Turns:
        return cls(_read_items(data, Turn.from_json))


@dataclass(frozen=True, slots=True)
class Rewrites(_Batch):
    items: tuple[Rewrite | Failure, ...] = ()

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Rewrites:
        return cls(_read_items(data, Rewrite.from_json))


@dataclass(frozen=True, slots=True)
class Rankings(_Batch):
    items: tuple[Ranking | Failure, ...] = ()

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Rankings:
        return cls(_read_items(data, Ranking.from_json))


@dataclass(frozen=True, slots=True)
class Readings(_Batch):
    items: tuple[Reading | Failure, ...] = ()

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Readings:
        return cls(_read_items(data, Reading.from_json))


@dataclass(frozen=True, slots=True)
class Answers(_Batch):
    items: tuple[Answer | Failure, ...] = ()

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Answers:
        return cls(_read_items(data, Answer.from_json))
