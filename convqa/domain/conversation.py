"""Conversations, turns, exchanges and passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

MetaValue = str | int | float | bool
MetaField = MetaValue | list[MetaValue]
"""A value, or several. A filter accepts any of them."""
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


class Named:
    """A value whose JSON is the mapping of its fields. Those of ``_OMITTED`` are omitted if empty."""

    __slots__: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        data = {name: _to_json(getattr(self, name)) for name in self.__slots__}
        return {name: value for name, value in data.items() if value or name not in _OMITTED}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


_OMITTED = frozenset({"act", "added", "cited", "notes", "statements", "usage", "withheld"})


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    return value.to_json() if hasattr(value, "to_json") else value


@dataclass(frozen=True, slots=True)
class TurnId(Listed):
    """The id of one turn. ``conversation`` is written with the type with which it was read.

    ``number`` is a string, such as ``1-3``, in a conversation that branches.
    """

    conversation: int | str
    number: int | str

    def __str__(self) -> str:
        return f"{self.conversation}_{self.number}"


UnitKind = Literal["sentence", "item", "step", "row", "question", "heading", "header", "code"]


@dataclass(frozen=True, slots=True)
class Unit(Listed):
    """What is quoted as a whole: the characters ``[start, end)`` of a passage's text.

    A ``step`` is a numbered item, a ``question`` includes its reply. A ``heading`` or a ``header`` (the header row of a
    table, its caption) is read, but not quoted.

    :param heading: the headings above it, outermost first, joined by " > ".
    :param context: the line that introduces an item, or the header row of a row. It may be outside the passage.
    """

    start: int
    end: int
    kind: UnitKind = "sentence"
    heading: str = ""
    context: str = ""

    @property
    def is_quotable(self) -> bool:
        return self.kind not in ("heading", "header")


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrievable text. ``meta`` holds the fields that filters compare.

    :param units: what can be quoted, in order, if the text is of a document. Else
        :func:`convqa.text.units.units_of` finds it in the text.
    :raises TypeError: if id or text is not a string, or meta not a mapping.
    """

    id: str
    text: str
    title: str = ""
    url: str = ""
    meta: Mapping[str, MetaField] = field(default_factory=dict, hash=False)
    units: tuple[Unit, ...] = ()

    def __post_init__(self) -> None:
        # The first test keeps this fast: it runs for every passage that is read.
        if not (isinstance(self.id, str) and isinstance(self.text, str) and type(self.meta) is dict):
            _expect("id", self.id, str, "a string")
            _expect("text", self.text, str, "a string")
            _expect("meta", self.meta, Mapping, "a mapping")

    @property
    def context(self) -> str:
        """What stands above the text: title, headings and, for a table's later rows, its header row.

        It is indexed with the text and read by models, because the text may only make sense below it.
        """
        first = next((unit for unit in self.units if unit.is_quotable), Unit(0, 0))
        above = "" if first.context in self.text else first.context
        path = " > ".join(filter(None, (self.title, first.heading)))
        return "\n".join(filter(None, (path, above)))

    @property
    def whole_text(self) -> str:
        """The context, a newline and the text, for models that read both; the text alone without a context."""
        context = self.context
        return f"{context}\n{self.text}" if context else self.text

    def source(self, start: int | None = None) -> str:
        """Return the name of a source as shown: title, heading above a character, file, page and whether the text was
        recognized in a picture; "" without a title.

        >>> meta = {"file": "lease.pdf", "page": 3}
        >>> Passage("a", "The notice is a month.", "Lease", "", meta, (Unit(0, 22, heading="8. Notice"),)).source(4)
        'Lease, 8. Notice (lease.pdf, page 3)'
        """
        heading = next((unit.heading for unit in self.units if start is not None and start < unit.end), "")
        name = ", ".join(filter(None, (self.title, heading.rpartition(" > ")[2])))
        file = str(self.meta.get("file", ""))
        page = f"page {self.meta['page']}" if file and "page" in self.meta else ""
        recognized = "recognized" if "recognized" in self.meta else ""
        place = ", ".join(filter(None, (file, page, recognized)))
        return f"{name} ({place})" if name and place else name

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"id": self.id, "text": self.text}
        if self.title:
            data["title"] = self.title
        if self.url:
            data["url"] = self.url
        if self.meta:
            data["meta"] = dict(self.meta)
        if self.units:
            data["units"] = [unit.to_json() for unit in self.units]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Passage:
        if not isinstance(data, Mapping):
            raise TypeError(f"passage: expected a mapping with id and text, got {data!r:.60}")
        return cls(
            data.get("id"),  # type: ignore[arg-type]
            data.get("text"),  # type: ignore[arg-type]
            data.get("title", ""),
            data.get("url", ""),
            data.get("meta", {}),
            tuple(Unit.from_json(unit) for unit in data.get("units", ())),
        )


def _expect(name: str, value: object, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"passage: {name}: expected {expected}, got {value!r:.60}")


@dataclass(frozen=True, slots=True)
class Exchange(Named):
    """One earlier exchange of a conversation.

    With status ``asked``, ``answer`` is the question that the system asked back. With ``idle``, the user asked nothing,
    and later turns ignore the exchange. ``cited``: the ids of the passages that the answer cites, if known.
    """

    question: str
    answer: str = ""
    rewrite: str | None = None
    status: ExchangeStatus = "answered"
    cited: Sequence[str] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with the history before it, oldest first.

    ``passages`` are given by tasks that bring their own. ``filter`` limits the passages that may answer the turn: each
    meta field must equal one of its values. ``scenario`` is what the user said about themselves beforehand. ``path``
    has the numbers of the turns before this one in a conversation that branches; None = all earlier turns.
    """

    id: TurnId
    question: str
    history: tuple[Exchange, ...] = ()
    passages: tuple[Passage, ...] | None = None
    scenario: str = ""
    language: str = DEFAULT_LANGUAGE
    filter: Mapping[str, tuple[MetaValue, ...]] = field(default_factory=dict, hash=False)
    path: tuple[int | str, ...] | None = None

    @property
    def statements(self) -> tuple[str, ...]:
        """The lines of the scenario, which are single statements in iKAT."""
        return tuple(filter(None, map(str.strip, self.scenario.splitlines())))


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order. Their ``history`` holds the exchanges of the input; the driver decides which are used."""

    id: int | str
    turns: tuple[Turn, ...]
