"""Contexts of reading comprehension with their questions, and their conversion to conversations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from convqa.domain import DEFAULT_LANGUAGE, Conversation, Passage, Turn, TurnId


@dataclass(frozen=True, slots=True)
class Question:
    """A question about its context.

    ``answers``: all accepted answers; empty if the question is unanswerable (SQuAD 2). ``spans``: half-open code point
    offsets of answers in the context; an answer may have several, or none in MRQA.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A text with questions. ``title``: the title of its article, "" if unknown."""

    text: str
    questions: tuple[Question, ...]
    title: str = ""


def conversations(context: Context, language: str = DEFAULT_LANGUAGE) -> Iterator[Conversation]:
    """Yield each question as a conversation of one turn with the context as its passage, without the answers.

    The questions share one passage, whose id is that of the first question, since contexts have none.

    >>> [talk] = conversations(Context("Goethe wrote Faust.", (Question("q1", "Who wrote Faust?", ("Goethe",)),)))
    >>> talk.id, talk.turns[0].question, talk.turns[0].passages[0].text
    ('q1', 'Who wrote Faust?', 'Goethe wrote Faust.')
    """
    if not context.questions:
        return
    passage = Passage(context.questions[0].id, context.text, context.title)
    for question in context.questions:
        turn = Turn(TurnId(question.id, 1), question.text, passages=(passage,), language=language)
        yield Conversation(question.id, (turn,))
