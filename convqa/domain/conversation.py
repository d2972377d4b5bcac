"""What is asked: turns with their history, in conversations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

MetaValue = str | int | float | bool
DEFAULT_LANGUAGE = "en"
ExchangeStatus = Literal["answered", "unanswered", "asked", "failed"]


@dataclass(frozen=True, slots=True)
class TurnId:
    """Names one turn. The type of ``conversation`` that was read is the type that is written."""

    conversation: int | str
    number: int

    def __str__(self) -> str:
        return f"{self.conversation}_{self.number}"

    def to_json(self) -> list[Any]:
        return [self.conversation, self.number]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> TurnId:
        return cls(data[0], data[1])


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrievable text. ``meta`` holds whatever a filter may ask for."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    meta: Mapping[str, MetaValue] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"id": self.id, "text": self.text}
        if self.title:
            data["title"] = self.title
        if self.url:
            data["url"] = self.url
        if self.meta:
            data["meta"] = dict(self.meta)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Passage:
        return cls(data["id"], data["text"], data.get("title", ""), data.get("url", ""), data.get("meta", {}))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier exchange of a conversation.

    Status ``asked`` means: question = what the user said, answer = what the system asked back.
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


def open_question(turn: Turn) -> str:
    """The question that the user wants answered: before any trailing exchanges in which the system asked back.

    What the user said in reply is a question of its own where :func:`is_question` says so.

    >>> asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    >>> open_question(Turn(TurnId(1, 2), "Yes", (asked,)))
    'Can I apply?'
    >>> open_question(Turn(TurnId(1, 2), "How much is it?", (asked,)))
    'How much is it?'
    """
    given = len(replies(turn))
    return turn.history[-given].question if given else turn.question


def replies(turn: Turn) -> tuple[tuple[str, str], ...]:
    """What the system asked back since the open question, each with the user's reply, oldest first.

    Empty where the turn is itself a new question.

    >>> history = (
    ...     Exchange("Can I apply?", "Are you over 60?", status="asked"),
    ...     Exchange("Yes", "Do you live here?", status="asked"),
    ... )
    >>> replies(Turn(TurnId(1, 3), "Not yet", history))
    (('Are you over 60?', 'Yes'), ('Do you live here?', 'Not yet'))
    """
    pairs = []
    said = turn.question
    for exchange in reversed(turn.history):
        if exchange.status != "asked" or is_question(said):
            break
        pairs.append((exchange.answer, said))
        said = exchange.question
    return tuple(reversed(pairs))


def is_question(text: str) -> bool:
    r"""Whether what the user said asks something of its own, and is no reply to a question asked back.

    It ends in a question mark, or begins like an English question. A word alone ("What?") only asks what was meant.

    >>> [is_question(text) for text in ("Can I apply?", "how much is it", "what's the limit", "何歳から\uff1f")]
    [True, True, True, True]
    >>> [is_question(text) for text in ("Yes", "Not yet", "I do", "When I was 60", "Had a baby", "May 2019", "What?")]
    [False, False, False, False, False, False, False]
    """
    words = _words(text)
    if not words or (len(words) == 1 and words[0] in _ALONE) or " ".join(words).startswith(_OF_THE_ASKING):
        return False
    if text.rstrip(_AFTER_THE_MARK).endswith(_MARKS):
        return True
    first, second = (*words, "", "")[:2]
    if first in {"when", "where"}:
        return second in _AUXILIARIES
    if first in _INTERROGATIVES:
        return bool(second) and second not in _SUBJECTS | _DETERMINERS
    if first in _FIRST_OF_REPLIES:
        return second in _SUBJECTS - {"it"}
    return first in _AUXILIARIES and second in _SUBJECTS | _DETERMINERS


def _words(text: str) -> list[str]:
    """Words in lower case, without "n't", and "is" for every other shortened verb, which is all that is asked here."""
    straight = text.lower().replace("\u2019", "'")
    return re.findall(r"\w+", re.sub(r"(?<=\w)'\w+", " is", straight.replace("n't", "")))


_MARKS = ("?", "\uff1f")
_AFTER_THE_MARK = " \t\r\n\"'\u201d\u2019\u00bb)]!."
_OF_THE_ASKING = (
    "why do you ask",
    "why are you asking",
    "what do you mean",
    "what does that mean",
    "what does this mean",
)
"""Questions about what was asked back: it stays open."""
_INTERROGATIVES = frozenset(["what", "who", "whom", "whose", "which", "why", "how", "when", "where"])
_ALONE = _INTERROGATIVES | {"huh", "eh", "sorry", "pardon", "really", "yes", "no", "ok", "okay"}
_FIRST_OF_REPLIES = frozenset(["am", "do", "did", "have", "has", "had", "was", "were"])
"""Auxiliaries with which a reply begins, too, when its subject is left out: "had a baby", "did it myself"."""
_AUXILIARIES = _FIRST_OF_REPLIES.union(
    ["is", "are", "ai", "does", "can", "ca", "could", "will", "wo", "would", "shall", "should", "may", "might",
     "must"]
)  # fmt: skip
"""Without their "n't"."""
_SUBJECTS = frozenset(["i", "we", "you", "he", "she", "it", "they"])
_DETERMINERS = frozenset(
    ["a", "an", "the", "this", "that", "these", "those", "there", "my", "our", "your", "his", "her", "its", "their",
     "any", "anyone", "anybody", "someone", "somebody", "everyone", "everybody", "all"]
)  # fmt: skip


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
