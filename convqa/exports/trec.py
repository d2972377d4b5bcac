"""A TREC run: a line per passage of each turn's ranking."""

from __future__ import annotations

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.metrics.trec import run_lines


def write(cited: CitedAnswer, submission: Submission) -> bytes:
    """Format the lines of a turn: ``CONVERSATION_TURN``, or ``TOPIC`` where a topic of the task trec has one turn."""
    is_topic = cited.alone and submission.task == "trec"
    turn = str(cited.id.conversation if is_topic else cited.id)
    return "".join(run_lines(turn, cited.scores, submission.run_id)).encode()


FORMAT = Format("trec", write, needs_answers=False)
