"""Contexts become conversations: the one place where run and server make turns of them."""

from __future__ import annotations

from collections.abc import Iterator

from convqa.domain import DEFAULT_LANGUAGE, Conversation, Passage, Turn, TurnId
from convqa.tasks.mrqa.contexts import Context


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
