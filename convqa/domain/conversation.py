"""Conversations, turns, exchanges and passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

MetaValue = str | int | float | bool
DEFAULT_LANGUAGE = "en"
ExchangeStatus = Literal["answered", "unanswered", "asked", "failed", "idle"]


class Listed:
    """A value whose JSON is the list of its fields."""

    __slots__: tuple[str, ...] = ()

    def to_json(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Self:
        return cls(*data)


@dataclass(frozen=True, slots=True)
class TurnId(Listed):
    """Names one turn. The type of ``conversation`` that was read is the type that is written."""

    conversation: int | str
    number: int

    def __str__(self) -> str:
        return f"{self.conversation}_{self.number}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrievable text. ``meta`` holds whatever a filter may ask for. A part of another type is a ``TypeError``."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    meta: Mapping[str, MetaValue] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        # Every passage that is read comes by here.
        if not (isinstance(self.id, str) and isinstance(self.text, str) and type(self.meta) is dict):
            for name, kind in (("id", str), ("text", str), ("meta", Mapping)):
                if not isinstance(value := getattr(self, name), kind):
                    wanted = "a string" if kind is str else "a mapping"
                    raise TypeError(f"passage: {name}: found {value!r:.60}; wanted {wanted}")

    @property
    def whole_text(self) -> str:
        """Title, line end, text, for models that read both; the text alone where there is no title."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    def to_json(self) -> dict[str, Any]:
        optional = {"title": self.title, "url": self.url, "meta": dict(self.meta)}
        return {"id": self.id, "text": self.text, **{name: value for name, value in optional.items() if value}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Passage:
        if not isinstance(data, Mapping):
            raise TypeError(f"passage: found {data!r:.60}; wanted a mapping with id and text")
        return cls(data.get("id"), data.get("text"), data.get("title", ""), data.get("url", ""), data.get("meta", {}))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier exchange of a conversation.

    Status ``asked`` means: question = what the user said, answer = what the system asked back; ``idle``: the user asked
    nothing, and nothing is to be made of it later.
    """

    question: str
    answer: str = ""
    rewrite: str | None = None
    status: ExchangeStatus = "answered"

    def to_json(self) -> dict[str, Any]:
        return {"question": self.question, "answer": self.answer, "rewrite": self.rewrite, "status": self.status}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Exchange:
        return cls(data["question"], data["answer"], data["rewrite"], data["status"])


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with the history before it, oldest first.

    ``passages`` are there when the task brings its own. ``filter`` says which passages of the collection the turn may
    be answered from: a meta field equals one of the values; all fields must match. ``scenario`` is what the user says
    of themselves beforehand.
    """

    id: TurnId
    question: str
    history: tuple[Exchange, ...] = ()
    passages: tuple[Passage, ...] | None = None
    scenario: str = ""
    language: str = DEFAULT_LANGUAGE
    filter: Mapping[str, tuple[MetaValue, ...]] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": self.id.to_json(),
            "question": self.question,
            "history": [exchange.to_json() for exchange in self.history],
            "passages": None if self.passages is None else [passage.to_json() for passage in self.passages],
            "scenario": self.scenario,
            "language": self.language,
        }
        if self.filter:
            data["filter"] = {name: list(values) for name, values in self.filter.items()}
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Turn:
        passages = data["passages"]
        return cls(
            TurnId.from_json(data["id"]),
            data["question"],
            tuple(Exchange.from_json(exchange) for exchange in data["history"]),
            None if passages is None else tuple(Passage.from_json(passage) for passage in passages),
            data["scenario"],
            data["language"],
            {name: tuple(values) for name, values in data.get("filter", {}).items()},
        )


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order. Their ``history`` holds the exchanges that the input gives; the driver decides what is used."""

    id: int | str
    turns: tuple[Turn, ...]

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "turns": [turn.to_json() for turn in self.turns]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Conversation:
        return cls(data["id"], tuple(Turn.from_json(turn) for turn in data["turns"]))
