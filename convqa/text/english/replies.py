"""What the user has told in a conversation: replies to what was asked back, and statements of their own accord."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from convqa.domain import Turn, is_question, open_question, replies
from convqa.text.sentences import sentences

_YES = re.compile(
    r"(?:yes|yeah|yep|yup|y|indeed|certainly|definitely|of course|absolutely)\b|"
    r"(?:sure|correct|right|true|that'?s (?:right|correct|true))(?=\s*(?:[.,;!]|\Z))",
    re.I,
)
_NO = re.compile(r"(?:no|nope|nah|n|not|never|neither)\b|(?:false|wrong)(?=\s*(?:[.,;!]|\Z))", re.I)
_YES_NOT = re.compile(
    r"(?:yes|sure|certainly|definitely|of course|absolutely|right|true|correct)\b"
    r"[^.;!?]{0,40}?(?<!why )(?:\bnot\b(?! only)|n't\b)",
    re.I,
)
_NEITHER = re.compile(
    r"not sure|no idea|n/a\b|not applicable|not only|yes and no|no and yes|no clue|not certain|none of your",
    re.I,
)
_AFTER_ALL = re.compile(r"\b(?:actually|sorry|wait|problem|doubt|worries|mind)\b", re.I)
_SHORT = re.compile(
    r"(?:i|we|it|they|he|she)(?: (?:do|does|did|am|are|is|was|were|have|has|had|can|could|will|would))", re.I
)
_SHORT_NO = re.compile(
    r"(?:i|we|it|they|he|she)"
    r"(?: (?:do|does|did|am|are|is|was|were|have|has|had|can|could|will|would)(?:n't| not)|'m not)",
    re.I,
)
_YES_NO = re.compile(
    r"(?:^|[,;:.!]\s+|\band\s+)(?:am|is|are|was|were|do|does|did|have|has|had|can|could|may|might|must|shall|should|will|"
    r"would)(?:n't)?\s+(?:\w+[\u2019'\s-])",
    re.I,
)


_POLITE = re.compile(
    r"^\W*(?:(?:and|but|so)\s+)?(?:what|who|whom|whose|which|why|how|when|where)\b|"
    r"\b(?:can|could|would|will|do|did) you (?:please )?(?:tell|explain|say|show|know|describe|help|give|let me know)\b"
    r"(?!.{0,20}\b(?:if|whether)\b)",
    re.I,
)
"""A question that wants more than yes or no, also in the form of one that does not."""


class Told(NamedTuple):
    """``replies``: what was asked back for the open question, with what the user said, oldest first.

    ``earlier``: the same for questions before it. ``statements``: what else the user told, one text.
    """

    replies: tuple[tuple[str, str], ...]
    earlier: tuple[tuple[str, str], ...]
    statements: str


def told(turn: Turn) -> Told:
    """All that the user has told up to a turn.

    >>> from convqa.domain import Exchange, TurnId
    >>> asked = Exchange("I am 70. Can I apply?", "Do you live here?", status="asked")
    >>> told(Turn(TurnId(1, 2), "Yes, in Rome.", (asked,), scenario="Help!"))
    Told(replies=(('Do you live here?', 'Yes, in Rome.'),), earlier=(), statements='Help! I am 70.')
    """
    now = replies(turn)
    before = turn.history[: len(turn.history) - len(now)]
    question = open_question(turn)
    said = [*(exchange.question for exchange in before), question]
    earlier = tuple(
        (exchange.answer, reply)
        for exchange, reply in zip(before, said[1:], strict=True)
        if exchange.status == "asked" and not is_question(reply)
    )
    # What asks nothing at all is what is to be answered, as it stands.
    beside = _statements(question) if asking(question) != question else ""
    earlier_said = [_statements(exchange.question) for exchange in before]
    texts = [turn.scenario, *earlier_said, beside, *(_longer(reply) for _, reply in now)]
    return Told(now, earlier, " ".join(_closed(text) for text in texts if text.strip()))


def agreed(reply: str) -> bool | None:
    """Yes or no, if a reply says that.

    >>> agreed("Yes, since May"), agreed("nope"), agreed("I don't"), agreed("I do."), agreed("I live in Rome")
    (True, False, False, True, None)
    """
    plain = reply.strip().replace("\u2019", "'")
    if "?" in plain or _NEITHER.match(plain) or (_NO.match(plain) and _AFTER_ALL.search(plain)):
        return None
    if _YES_NOT.match(plain):
        return False
    if _YES.match(plain):
        return True
    if _NO.match(plain):
        return False
    short = plain.rstrip(" .!")
    if _SHORT_NO.fullmatch(short):
        return False
    return True if _SHORT.fullmatch(short) else None


def yes_or_no(question: str) -> bool:
    """Whether a question can be answered yes or no, by its word order. English.

    >>> yes_or_no("If I live abroad, can I get it?"), yes_or_no("I am 70. Can I apply?")
    (True, True)
    >>> yes_or_no("How much is it?"), yes_or_no("Could you tell me how much it is?")
    (False, False)
    """
    parts = [question[start:end] for start, end in sentences(question)]
    asking = [one for one in parts if one.endswith("?")] or parts[-1:]
    return any(_YES_NO.search(one) and not _POLITE.search(one) for one in asking)


def asking(said: str) -> str:
    """The sentences that ask, of what the user said; all of it where none looks like a question.

    >>> asking("I do not work. Can I apply?")
    'Can I apply?'
    """
    parts = [said[start:end] for start, end in sentences(said)]
    return " ".join(one for one in parts if is_question(one) or yes_or_no(one)) or said


def _statements(said: str) -> str:
    """The sentences of what the user said that ask nothing."""
    return " ".join(_assertions(said)) if len(said.split()) > 2 else ""


def _longer(reply: str) -> str:
    """What a reply says beside yes or no."""
    rest = _YES.sub("", reply.strip(), count=1) if _YES.match(reply.strip()) else reply.strip()
    rest = (_NO.sub("", rest, count=1) if _NO.match(rest) else rest).strip(" ,.;:!-")
    return rest if len(rest.split()) > 2 else ""


def _closed(text: str) -> str:
    """A text that ends as a sentence does."""
    return text.strip() if text.strip()[-1] in ".!?" else f"{text.strip()}."


def _assertions(said: str) -> Iterator[str]:
    for start, end in sentences(said):
        sentence = said[start:end]
        if not is_question(sentence) and not yes_or_no(sentence):
            yield sentence
