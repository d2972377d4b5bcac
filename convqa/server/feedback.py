"""What people think of answers, as records that ``convqa run`` takes as an input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from convqa.server.conversations import Conversations


def records(kept: Conversations) -> Iterator[dict[str, Any]]:
    """Yield a record for each rated turn: QReCC's fields of a question, and the answer with its verdict."""
    for id, turns in kept.rated():
        context: list[str] = []
        for number, turn in enumerate(turns, 1):
            exchange = turn.exchange
            answer = turn.response.answer
            if turn.feedback is not None:
                yield {
                    "Conversation_no": id,
                    "Turn_no": number,
                    "Question": exchange.question,
                    "Context": context,
                    "Rewrite": exchange.rewrite or exchange.question,
                    "Answer": exchange.answer,
                    "Passages": sorted(answer.cited_ids()) if answer else [],
                    "Verdict": turn.feedback.verdict,
                    "Comment": turn.feedback.comment,
                }
            context = [*context, exchange.question, exchange.answer]
