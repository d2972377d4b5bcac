"""Facts that the user has stated: replies to questions asked back, and statements of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from convqa.domain import Turn
from convqa.sharc import lexicon
from convqa.text.dialogue import is_question, open_question, replies
from convqa.text.english.lexicon import SUBJECT_PRONOUNS, either
from convqa.text.facts import is_yes_no_question
from convqa.text.sentences import sentences

_SUBJECT = either(SUBJECT_PRONOUNS - {"you"})
_AUXILIARY = either(lexicon.SHORT_ANSWER_AUXILIARIES)
_SHORT = re.compile(rf"{_SUBJECT} {_AUXILIARY}[ .!]*\Z", re.I)
_SHORT_NO = re.compile(rf"{_SUBJECT}(?: {_AUXILIARY}(?:n't| not)|'m not)[ .!]*\Z", re.I)
_REPLIES = (
    (lexicon.YES_NOT, False),
    (lexicon.YES, True),
    (lexicon.NO, False),
    (_SHORT_NO, False),
    (_SHORT, True),
)
"""The first pattern that matches tells whether a reply says yes."""


class UserStatements(NamedTuple):
    """``replies``: questions asked back since the open question, each with the user's reply, oldest first.

    ``earlier``: the same for previous questions. ``statements``: all other statements of the user as one text.
    """

    replies: tuple[tuple[str, str], ...]
    earlier: tuple[tuple[str, str], ...]
    statements: str


def user_statements(turn: Turn) -> UserStatements:
    """Return everything that the user has stated up to a turn.

    >>> from convqa.domain import Exchange, TurnId
    >>> asked = Exchange("I am 70. Can I apply?", "Do you live here?", status="asked")
    >>> user_statements(Turn(TurnId(1, 2), "Yes, in Rome.", (asked,), scenario="Help!"))
    UserStatements(replies=(('Do you live here?', 'Yes, in Rome.'),), earlier=(), statements='Help! I am 70.')
    """
    now = replies(turn)
    before = turn.history[: len(turn.history) - len(now)]
    question = open_question(turn)
    questions = [*(exchange.question for exchange in before), question]
    earlier = tuple(
        (exchange.answer, reply)
        for exchange, reply in zip(before, questions[1:], strict=True)
        if exchange.status == "asked" and not is_question(reply)
    )
    # A text without any question is the open question as a whole.
    stated = _statements(question) if asking_sentences(question) != question else ""
    stated_before = [_statements(exchange.question) for exchange in before]
    texts = [
        turn.scenario,
        *stated_before,
        stated,
        *(_longer(reply) for _, reply in now),
    ]
    return UserStatements(now, earlier, " ".join(_closed(text) for text in texts if text.strip()))


def agreed(reply: str) -> bool | None:
    """Return whether a reply says yes (True) or no (False), None if neither.

    >>> agreed("Yes, since May"), agreed("nope"), agreed("I don't"), agreed("I do."), agreed("I live in Rome")
    (True, False, False, True, None)
    """
    plain = reply.strip().replace("\u2019", "'")
    if "?" in plain or lexicon.NEITHER_YES_NOR_NO.match(plain):
        return None
    if lexicon.NO.match(plain) and lexicon.AFTER_ALL.search(plain):
        return None
    for pattern, says_yes in _REPLIES:
        if pattern.match(plain):
            return says_yes
    return None


def asking_sentences(text: str) -> str:
    """Return the sentences of a text that ask something, or the whole text if none does.

    >>> asking_sentences("I do not work. Can I apply?")
    'Can I apply?'
    """
    return " ".join(sentence for sentence, asks in _sentences(text) if asks) or text


def _statements(text: str) -> str:
    """Return the sentences that ask nothing, "" for texts of one or two words."""
    if len(text.split()) <= 2:
        return ""
    return " ".join(sentence for sentence, asks in _sentences(text) if not asks)


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each sentence, and whether it asks something."""
    for start, end in sentences(text):
        sentence = text[start:end]
        yield sentence, is_question(sentence) or is_yes_no_question(sentence)


def _longer(reply: str) -> str:
    """Return the rest of a reply after yes or no, "" for one or two words."""
    rest = reply.strip()
    for word in (lexicon.YES, lexicon.NO):
        match = word.match(rest)
        if match:
            rest = rest[match.end() :]
    rest = rest.strip(" ,.;:!-")
    return rest if len(rest.split()) > 2 else ""


def _closed(text: str) -> str:
    text = text.strip()
    return text if text[-1] in ".!?" else f"{text}."
