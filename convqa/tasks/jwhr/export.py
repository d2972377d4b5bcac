"""The export ``jwhr``: an entry of the data set per turn, with what was retrieved and cited."""

from __future__ import annotations

from hashlib import blake2b

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes
from convqa.tasks.jwhr.entry import entry_of


def write(cited: CitedAnswer, submission: Submission) -> bytes:  # noqa: ARG001 - the signature of all writers
    """Format the line of one turn, with its self-contained question.

    The id is the conversation, if that is a whole number and has one turn. Otherwise it is a hash of the turn's name,
    which is added as ``turn``.
    """
    entry = entry_of(cited.response, cited.question)
    conversation = cited.id.conversation
    if not cited.alone or not isinstance(conversation, int) or not -(2**63) <= conversation < 2**63:
        name = str(cited.id)
        digest = blake2b(name.encode("utf-8", "replace"), digest_size=6).digest()
        entry |= {"id": int.from_bytes(digest), "turn": name}
    return to_json_bytes(entry) + b"\n"


FORMAT = Format("jwhr", write)
