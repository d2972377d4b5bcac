"""Utterances become conversations: the one place where a file's follow-up questions become a history."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.domain import Conversation, Exchange, Passage, Turn, TurnId
from convqa.tasks.sharc.schema import Official, Open


def conversation(record: Official | Open) -> Conversation:
    """An utterance as a conversation of one turn. The official form's brings its rule text, called by the tree's id."""
    history, question = asked_back(
        record.question, [(entry.follow_up_question, entry.follow_up_answer) for entry in record.history]
    )
    passages = None
    if isinstance(record, Official):
        passages = (Passage(record.tree_id, record.snippet, url=record.source_url),)
    turn = Turn(TurnId(record.utterance_id, 1), question, history, passages, record.scenario)
    return Conversation(record.utterance_id, (turn,))


def asked_back(question: str, follow_ups: Sequence[tuple[str, str]]) -> tuple[tuple[Exchange, ...], str]:
    """The history, and what the user says now: the last reply, or the question where nothing was asked back.

    In each exchange the user said something, and the system asked.

    :param follow_ups: (what was asked back, the reply) in order.

    >>> history, now = asked_back("Can I apply?", [("Are you over 60?", "Yes"), ("Do you work?", "No")])
    >>> [(one.question, one.answer, one.status) for one in history], now
    ([('Can I apply?', 'Are you over 60?', 'asked'), ('Yes', 'Do you work?', 'asked')], 'No')
    """
    said = [question, *(reply for _, reply in follow_ups)]
    pairs = zip(said, follow_ups, strict=False)
    return tuple(Exchange(words, asked, status="asked") for words, (asked, _) in pairs), said[-1]
