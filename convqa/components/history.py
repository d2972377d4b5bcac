"""The history of a question as a model is shown it: short enough, in order, and never without its topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from convqa.domain import Exchange, Turn
from convqa.models.kinds.resolver_input import Past as Past
from convqa.text.dialogue import replies as replied

REACH = 50
"""Exchanges that are looked at, beside the first one."""

LONGEST = 600
"""Characters of one utterance that are shown; an answer's beginning says what it is about."""

_AROUND = 8
"""Tokens that a format puts around an exchange, at most."""


def said_before(turn: Turn, rewrites: bool = False) -> list[Past]:
    """The exchanges before a turn's open question, oldest first: the first one and the latest 50 that are not empty.

    Where the system asked back, what it asked and what the user replied come last, and the open question, which is the
    one to be rewritten, is not among them. A question that the user asked instead of a reply is open itself
    (:func:`convqa.text.dialogue.open_question`), and what went before it is told as it was.

    :param rewrites: earlier questions as they were rewritten, where they were.

    >>> from convqa.domain import TurnId
    >>> asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    >>> [tuple(said) for said in said_before(Turn(TurnId(1, 3), "Yes", (Exchange("Hi", "Hello."), asked)))]
    [('Hi', 'Hello.'), ('', 'Are you over 60?'), ('Yes', '')]
    >>> [tuple(said) for said in said_before(Turn(TurnId(1, 2), "Who else can?", (asked,)))]
    [('Can I apply?', 'Are you over 60?')]
    """
    history = first_and_latest(turn.history, REACH)
    closed = max(0, len(history) - len(replied(turn)))
    pairs = [Past((rewrites and one.rewrite) or one.question, one.answer) for one in history[:closed]]
    if asked := history[closed:]:
        said = ["", *(exchange.question for exchange in asked[1:]), turn.question]
        pairs += [Past(*pair) for pair in zip(said, [*(exchange.answer for exchange in asked), ""], strict=True)]
    shown = [Past(_short(question), _short(answer)) for question, answer in pairs]
    return [exchange for exchange in shown if any(exchange)]


def first_and_latest(history: tuple[Exchange, ...], latest: int) -> tuple[Exchange, ...]:
    """The first exchange that is not blank, and the latest ones: of ten thousand only these are read.

    A blank one among the latest is still there, and is made up for by none before them. Idle ones do not count.
    """
    history = tuple(exchange for exchange in history if exchange.status != "idle")
    start = max(0, len(history) - latest)
    first = next((exchange for exchange in history[:start] if not blank(exchange)), None)
    return history[start:] if first is None else (first, *history[start:])


def blank(exchange: Exchange) -> bool:
    """Whether nobody said anything in an exchange."""
    return not exchange.question.strip() and not exchange.answer.strip()


def fitted(
    said: Sequence[Past], question: str, room: int, lengths: Callable[[Sequence[str]], Sequence[int]]
) -> list[Past]:
    """The exchanges that fit into a model's room beside the question: the first question, and the latest ones.

    What is left out is in the middle, as the first question names the topic and the latest ones what is spoken of now.

    :param room: tokens that all together may take.
    :param lengths: how many tokens each of some texts takes.
    """
    if not said:
        return []
    first, *later = said
    texts = [f"{exchange.question} {exchange.answer}" for exchange in later]
    beside = [f"{first.question} {question}", f"{first.question} {first.answer} {question}"]
    alone, whole, *costs = (length + _AROUND for length in lengths([*beside, *texts]))
    left = room - alone
    kept: list[Past] = []
    for exchange, cost in zip(reversed(later), reversed(costs), strict=True):
        if cost > left:
            break
        left -= cost
        kept.append(exchange)
    if len(kept) == len(later) and whole - alone <= left:
        return list(said)
    return [*([Past(first.question, "")] if first.question else []), *reversed(kept)]


def _short(text: str) -> str:
    """A text on one line, cut between words where it is too long."""
    line = " ".join(text[: 4 * LONGEST].split())
    if len(line) <= LONGEST:
        return line
    cut = line.rfind(" ", LONGEST // 2, LONGEST + 1)
    return line[: cut if cut > 0 else LONGEST]
