"""The entries of the Japanese Wikipedia Human Retrieval dataset (JWHR), a JSON line each: what was found and cited."""

from __future__ import annotations

from hashlib import blake2b

from convqa.domain import jwhr_entry
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes


def write(cited: CitedAnswer, submission: Submission) -> bytes:  # noqa: ARG001 - the form of all writers
    """The line of one turn, whose question is the self-contained one.

    An entry's id is a whole number: the conversation where it is one and has one turn. Any other turn has a number made
    of its name, which stands beside it as ``turn``.
    """
    found, conversation = jwhr_entry(cited.response, cited.question), cited.id.conversation
    if not cited.alone or not isinstance(conversation, int) or not -(2**63) <= conversation < 2**63:
        name = str(cited.id)
        found |= {"id": int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=6).digest()), "turn": name}
    return to_json_bytes(found) + b"\n"


FORMAT = Format("jwhr", "JWHR's entries, a JSON line each", write)
