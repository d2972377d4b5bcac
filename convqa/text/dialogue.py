"""Reading of a turn: its open question, whether it asks anything, and what a rewrite adds to it.

It reads any language as far as marks tell; by words English and German.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import islice

from convqa.domain import Turn
from convqa.text import german
from convqa.text.english import lexicon

_WORD = re.compile(r"\w(?:\S*\w)?")
_READ = 300
_MARKS = ("?", "\uff1f")
_ALL_MARKS = (*_MARKS, "\u061f")
_AFTER_THE_MARK = " \t\r\n\"'\u201d\u2019\u00bb)]!."

_QUESTION_WORDS = {
    "en": lexicon.QUESTION_WORDS | lexicon.CONTRACTED_QUESTION_WORDS,
    "de": german.QUESTION_WORDS,
}
"""Of these one is among the first three words of a question."""

_OPENINGS = {"en": lexicon.AUXILIARIES | lexicon.NEGATED_AUXILIARIES | lexicon.REQUESTS, "de": german.OPENINGS}
"""Words that questions without a question word, and requests, begin with."""

_AUXILIARIES = lexicon.AUXILIARIES | lexicon.CONTRACTED_AUXILIARIES
_SUBJECTS = lexicon.SUBJECT_PRONOUNS | lexicon.OPENING_DETERMINERS


def open_question(turn: Turn) -> str:
    """The question that the user wants answered: before any trailing exchanges in which the system asked back.

    What the user said in reply is a question of its own where :func:`is_question` says so.

    >>> from convqa.domain import Exchange, TurnId
    >>> asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    >>> open_question(Turn(TurnId(1, 2), "Yes", (asked,)))
    'Can I apply?'
    >>> open_question(Turn(TurnId(1, 2), "How much is it?", (asked,)))
    'How much is it?'
    """
    given = len(replies(turn))
    return turn.history[-given].question if given else turn.question


def replies(turn: Turn) -> tuple[tuple[str, str], ...]:
    """The questions that the system asked back since the open question, each with the user's reply, oldest first.

    Empty where the turn is itself a new question.

    >>> from convqa.domain import Exchange, TurnId
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
    if not words or (len(words) == 1 and words[0] in lexicon.NO_QUESTION_ALONE):
        return False
    if lexicon.ABOUT_THE_ASKING.match(" ".join(words)):
        return False
    if text.rstrip(_AFTER_THE_MARK).endswith(_MARKS):
        return True
    first, second = (*words, "", "")[:2]
    if first in {"when", "where"}:
        return second in _AUXILIARIES
    if first in lexicon.QUESTION_WORDS:
        return bool(second) and second not in _SUBJECTS
    if first in lexicon.SUBJECTLESS_AUXILIARIES:
        return second in lexicon.SUBJECT_PRONOUNS - {"it"}
    return first in _AUXILIARIES and second in _SUBJECTS


def _words(text: str) -> list[str]:
    """Words in lower case, without "n't", and "is" for every other shortened verb, which is all that is asked here."""
    straight = text.lower().replace("\u2019", "'")
    return re.findall(r"\w+", re.sub(r"(?<=\w)'\w+", " is", straight.replace("n't", "")))


def asks(text: str, language: str) -> bool:
    """Whether a text asks or requests something: it ends with a question mark, or begins as questions do and has none.

    >>> [asks(text, "en") for text in ("where is it", "It is here.", "Where is it? It is here.")]
    [True, False, False]
    """
    bare = text.rstrip(" \t\n\"'\u201d)").lower()
    if any(mark in bare for mark in _ALL_MARKS):
        # A question mark before the end: it was asked, and then something was said.
        return bare.endswith(_ALL_MARKS)
    words = bare.replace("\u2019", "'").split()
    asking, opening = _QUESTION_WORDS.get(language, frozenset()), _OPENINGS.get(language, frozenset())
    return not asking.isdisjoint(words[:3]) or not opening.isdisjoint(words[:1])


def added(question: str, text: str) -> tuple[tuple[int, int], ...]:
    """Characters [start, end) of the words of a rewritten text that the question does not have in their place.

    Of texts that no person reads (over 300 words) nothing is said.

    >>> text = "How much does Signal's CEO earn?"
    >>> [text[start:end] for start, end in added("How much does its CEO earn?", text)]
    ["Signal's"]
    """
    asked, made = ([*islice(_WORD.finditer(one), _READ + 1)] for one in (question, text))
    if text == question or len(made) > _READ:
        return ()
    matcher = SequenceMatcher(None, [word[0].lower() for word in asked], [word[0].lower() for word in made], False)
    places = [(first, last) for tag, _, _, first, last in matcher.get_opcodes() if tag != "equal" and first < last]
    return tuple((made[first].start(), made[last - 1].end()) for first, last in places)
