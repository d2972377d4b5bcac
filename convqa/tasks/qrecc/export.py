"""The export ``evidence``: the answers of SCAI-QReCC's run.json, a JSON array.

A record has Model_answer, Model_evidence (2022) and Model_citations (ours).
"""

from __future__ import annotations

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes
from convqa.tasks.qrecc.run import evidence_fields


def write(cited: CitedAnswer, submission: Submission) -> bytes:  # noqa: ARG001 - the signature of all writers
    """Format the record of one turn, without Model_rewrite and Model_passages."""
    turn = {
        "Conversation_no": cited.id.conversation,
        "Turn_no": cited.id.number,
    }
    return to_json_bytes(turn | evidence_fields(cited.answer, cited.quotes))


FORMAT = Format("evidence", write, b"[\n", b",\n", b"\n]\n")
