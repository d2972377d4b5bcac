"""The history of a question as input for a model: short, in order, and with its topic."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from convqa.domain import Exchange, Turn
from convqa.models.kinds.resolver_input import LANGUAGE
from convqa.models.kinds.resolver_input import Past as Past
from convqa.text.dialogue import open_question
from convqa.text.dialogue import replies as replied
from convqa.text.words import latin

MAX_EXCHANGES = 50
"""Maximum number of exchanges, in addition to the first one."""

MAX_UTTERANCE_CHARS = 600
"""Maximum characters of an utterance. The beginning of an answer contains its topic."""

_FORMAT_TOKENS = 8
"""Maximum tokens that a format adds to an exchange."""


def said_before(turn: Turn) -> list[Past]:
    """Return the first and the latest 50 nonempty exchanges before a turn's open question, oldest first.

    If the system asked back, its questions and the user's replies come last, without the open question, which is the
    one to rewrite. If the user asked a new question instead of replying, that one is open
    (:func:`convqa.text.dialogue.open_question`), and earlier exchanges are unchanged.

    >>> from convqa.domain import TurnId
    >>> asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    >>> [tuple(said) for said in said_before(Turn(TurnId(1, 3), "Yes", (Exchange("Hi", "Hello."), asked)))]
    [('Hi', 'Hello.'), ('', 'Are you over 60?'), ('Yes', '')]
    >>> [tuple(said) for said in said_before(Turn(TurnId(1, 2), "Who else can?", (asked,)))]
    [('Can I apply?', 'Are you over 60?')]
    """
    history = first_and_latest(turn.history, MAX_EXCHANGES)
    closed = max(0, len(history) - len(replied(turn)))
    pairs = [(exchange.question, exchange.answer) for exchange in history[:closed]]
    asked = history[closed:]
    if asked:
        # Each question of the system stands with the reply to the one before it.
        replies = ["", *(exchange.question for exchange in asked[1:]), turn.question]
        questions = [*(exchange.answer for exchange in asked), ""]
        pairs += zip(replies, questions, strict=True)
    shortened = [Past(short(question), short(answer)) for question, answer in pairs]
    return [exchange for exchange in shortened if any(exchange)]


class OpenQuestion(NamedTuple):
    """The open question of a turn with a history; ``row`` is the turn's place in its batch."""

    row: int
    text: str
    history: list[Past]
    language: str


def questions_with_history(turns: Sequence[Turn], or_statements: bool = False) -> list[OpenQuestion]:
    """Return the open questions of the turns that have a history, or statements of the user if these count too."""
    questions = []
    for index, turn in enumerate(turns):
        history = said_before(turn)
        if history or (or_statements and turn.statements):
            questions.append(OpenQuestion(index, open_question(turn), history, turn.language))
    return questions


def reads(question: str, language: str) -> bool:
    """Return whether the models of conversations read a question: it is in their language, in Latin letters.

    >>> reads("When was he born?", "en"), reads("Wann wurde er geboren?", "de"), reads("\u4ed6\u5728\u54ea\u91cc", "en")
    (True, False, False)
    """
    return language == LANGUAGE and latin(question)


def first_and_latest(
    history: tuple[Exchange, ...],
    latest: int = sys.maxsize,
    idle: bool = False,
) -> tuple[Exchange, ...]:
    """Return the first exchange that is not blank and the latest ones, all by default.

    Blank exchanges among the latest are kept. :param idle: whether to return idle exchanges too.
    """
    history = tuple(exchange for exchange in history if idle or exchange.status != "idle")
    start = max(0, len(history) - latest)
    earlier = [exchange for exchange in history[:start] if not blank(exchange)]
    return (*earlier[:1], *history[start:])


def blank(exchange: Exchange) -> bool:
    """Return whether an exchange has neither question nor answer."""
    return not (exchange.question + exchange.answer).strip()


def fitted(
    said: Sequence[Past],
    room: int,
    lengths: Callable[[Sequence[str]], Sequence[int]],
) -> list[Past]:
    """Return the latest exchanges that fit into a model's input.

    :param room: maximum number of tokens.
    :param lengths: returns the number of tokens of each text.
    """
    costs = lengths([f"{exchange.question} {exchange.answer}" for exchange in said])
    first = len(said)
    while first > 0 and costs[first - 1] + _FORMAT_TOKENS <= room:
        first -= 1
        room -= costs[first] + _FORMAT_TOKENS
    return list(said[first:])


def short(text: str) -> str:
    """Return a text on one line, truncated between words."""
    limit = MAX_UTTERANCE_CHARS
    line = " ".join(text[: 4 * limit].split())
    if len(line) <= limit:
        return line
    cut = line.rfind(" ", limit // 2, limit + 1)
    return line[:cut] if cut > 0 else line[:limit]
