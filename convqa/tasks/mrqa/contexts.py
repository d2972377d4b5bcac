"""Contexts of extractive reading with their questions, and the conversations that they become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from convqa.domain import DEFAULT_LANGUAGE, Conversation, Passage, Turn, TurnId


@dataclass(frozen=True, slots=True)
class Question:
    """A question about its context.

    ``answers`` are all accepted ones (none: it cannot be answered, SQuAD 2). ``spans`` are where answers stand in the
    context: half-open code points; the same answer may stand at several places, or (MRQA) at none.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A text that questions are asked about. ``title``: of the article it comes from, "" where the file has none."""

    text: str
    questions: tuple[Question, ...]
    title: str = ""


def conversations(context: Context, language: str = DEFAULT_LANGUAGE) -> Iterator[Conversation]:
    """Each question as a conversation of one turn that brings the context; what is accepted as its answer stays behind.

    The questions share one passage, which has the first question's id: files give contexts none.

    >>> from convqa.tasks.mrqa.contexts import Question
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
