"""Analysis of a turn: its open question, whether it asks anything, and which words a rewrite adds.

Question marks are recognized in any language, question words in English and German.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import islice

from convqa.domain import Turn
from convqa.text import german
from convqa.text.english import lexicon
from convqa.text.words import listed

_WORD = re.compile(r"\w(?:\S*\w)?")
_MAX_WORDS = 300
_QUESTION_MARKS = ("?", "\uff1f")
_ALL_QUESTION_MARKS = (*_QUESTION_MARKS, "\u061f")
_AFTER_QUESTION_MARK = " \t\r\n\"'\u201d\u2019\u00bb)]!."

_QUESTION_WORDS = {
    "en": lexicon.QUESTION_WORDS | lexicon.CONTRACTED_QUESTION_WORDS,
    "de": german.QUESTION_WORDS,
}
"""Words that mark a question if they are among its first three words."""

_OPENINGS = {
    "en": lexicon.AUXILIARIES | lexicon.NEGATED_AUXILIARIES | lexicon.REQUESTS,
    "de": german.OPENINGS,
}
"""First words of requests and of questions without a question word."""

_AUXILIARIES = lexicon.AUXILIARIES | lexicon.CONTRACTED_AUXILIARIES
_REFERRING = (
    lexicon.SUBJECT_PRONOUNS - {"i", "we", "you"}
    | lexicon.DEMONSTRATIVES
    | listed("the there him them its his her their one ones same other others else more then also too again such")
)
"""Words that may refer to what was said before."""

_SUBJECTS = lexicon.SUBJECT_PRONOUNS | lexicon.OPENING_DETERMINERS


def open_question(turn: Turn) -> str:
    """Return the question that the user wants answered, skipping trailing exchanges in which the system asked back.

    A reply that is itself a question (:func:`is_question`) becomes the open question.

    >>> from convqa.domain import Exchange, TurnId
    >>> asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    >>> open_question(Turn(TurnId(1, 2), "Yes", (asked,)))
    'Can I apply?'
    >>> open_question(Turn(TurnId(1, 2), "How much is it?", (asked,)))
    'How much is it?'
    """
    count = len(replies(turn))
    return turn.history[-count].question if count else turn.question


def replies(turn: Turn) -> tuple[tuple[str, str], ...]:
    """Return the system's questions since the open question, each with the user's reply, oldest first.

    Empty if the turn is itself a new question.

    >>> from convqa.domain import Exchange, TurnId
    >>> history = (
    ...     Exchange("Can I apply?", "Are you over 60?", status="asked"),
    ...     Exchange("Yes", "Do you live here?", status="asked"),
    ... )
    >>> replies(Turn(TurnId(1, 3), "Not yet", history))
    (('Are you over 60?', 'Yes'), ('Do you live here?', 'Not yet'))
    """
    pairs = []
    reply = turn.question
    for exchange in reversed(turn.history):
        if exchange.status != "asked" or is_question(reply):
            break
        pairs.append((exchange.answer, reply))
        reply = exchange.question
    return tuple(reversed(pairs))


def stands_alone(turn: Turn) -> bool:
    """Return whether an English question certainly needs no word of the conversation: it names something, and refers to
    nothing.

    >>> from convqa.domain import TurnId
    >>> [stands_alone(Turn(TurnId(1, 2), text)) for text in ("Who wrote Faust?", "Who wrote it?", "And Schiller?")]
    [True, False, False]
    """
    words = _words(turn.question)
    begins = words[:1] and words[0] in lexicon.QUESTION_WORDS | _AUXILIARIES
    if turn.language != "en" or not begins or replies(turn):
        return False
    return _REFERRING.isdisjoint(words) and any(word[0].isupper() for word in turn.question.split()[1:])


def is_question(text: str) -> bool:
    r"""Return whether a text is a question of its own and not a reply to a question asked back.

    Such a text ends in a question mark or begins like an English question. A single word ("What?") only asks for an
    explanation.

    >>> [is_question(text) for text in ("Can I apply?", "how much is it", "what's the limit", "何歳から\uff1f")]
    [True, True, True, True]
    >>> [is_question(text) for text in ("Yes", "Not yet", "I do", "When I was 60", "Had a baby", "May 2019", "What?")]
    [False, False, False, False, False, False, False]
    """
    words = _words(text)
    if not words:
        return False
    if len(words) == 1 and words[0] in lexicon.NO_QUESTION_ALONE:
        return False
    if lexicon.ABOUT_THE_ASKING.match(" ".join(words)):
        return False
    if text.rstrip(_AFTER_QUESTION_MARK).endswith(_QUESTION_MARKS):
        return True
    first = words[0]
    second = words[1] if len(words) > 1 else ""
    if first in {"when", "where"}:
        return second in _AUXILIARIES
    if first in lexicon.QUESTION_WORDS:
        return bool(second) and second not in _SUBJECTS
    if first in lexicon.SUBJECTLESS_AUXILIARIES:
        return second in lexicon.SUBJECT_PRONOUNS - {"it"}
    return first in _AUXILIARIES and second in _SUBJECTS


def _words(text: str) -> list[str]:
    """Return lower-case words, with "n't" removed and every other contracted verb replaced by "is"."""
    straight = text.lower().replace("\u2019", "'").replace("n't", "")
    expanded = re.sub(r"(?<=\w)'\w+", " is", straight)
    return re.findall(r"\w+", expanded)


def asks(text: str, language: str) -> bool:
    """Return whether a text asks or requests something.

    It ends in a question mark, or it has none and begins like a question.

    >>> [asks(text, "en") for text in ("where is it", "It is here.", "Where is it? It is here.")]
    [True, False, False]
    """
    bare = text.rstrip(" \t\n\"'\u201d)").lower()
    if any(mark in bare for mark in _ALL_QUESTION_MARKS):
        # After a question mark before the end comes a statement.
        return bare.endswith(_ALL_QUESTION_MARKS)
    words = bare.replace("\u2019", "'").split()
    question_words = _QUESTION_WORDS.get(language, frozenset())
    openings = _OPENINGS.get(language, frozenset())
    return not question_words.isdisjoint(words[:3]) or not openings.isdisjoint(words[:1])


def added(question: str, text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters [start, end) of the rewritten text that the question lacks.

    Empty for texts of over 300 words, which nobody reads.

    >>> text = "How much does Signal's CEO earn?"
    >>> [text[start:end] for start, end in added("How much does its CEO earn?", text)]
    ["Signal's"]
    """
    before = list(islice(_WORD.finditer(question), _MAX_WORDS + 1))
    after = list(islice(_WORD.finditer(text), _MAX_WORDS + 1))
    if text == question or len(after) > _MAX_WORDS:
        return ()
    matcher = SequenceMatcher(
        None,
        [word[0].lower() for word in before],
        [word[0].lower() for word in after],
        autojunk=False,
    )
    ranges = []
    for tag, _, _, first, last in matcher.get_opcodes():
        if tag != "equal" and first < last:
            ranges.append((after[first].start(), after[last - 1].end()))
    return tuple(ranges)
