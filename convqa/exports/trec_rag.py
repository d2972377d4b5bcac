"""TREC RAG: a JSON line per turn, whose sentences cite indexes of a list of passage ids.

The fields are those of Ragnarök's results of 2024 (run_id, topic_id, topic, references, response_length, answer;
Pradeep et al., arXiv 2406.16828) with the metadata that the track's check of 2025 requires (team_id, run_id, type,
narrative_id, narrative), so that one file serves both. ``conversation`` and ``turn`` in the metadata are our own.
"""

from __future__ import annotations

import unicodedata

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes

MAX_REFERENCES = 100
"""The track's limit of 2025; further references are left out."""


def write(cited: CitedAnswer, submission: Submission) -> bytes:
    """Format the line of one turn. A sentence cites a passage once, since the format has no offsets.

    The topic is the conversation, or ``CONVERSATION_TURN`` if that has several turns.
    """
    topic = str(cited.id.conversation) if cited.alone else str(cited.id)
    references = cited.passage_ids()[:MAX_REFERENCES]
    answer = []
    for sentence in cited.sentences():
        passages = dict.fromkeys(citation.passage_id for citation in sentence.citations)
        indexes = [references.index(id) for id in passages if id in references]
        answer.append({"text": sentence.text, "citations": indexes})
    record = {
        "run_id": submission.run_id,
        "topic_id": topic,
        "topic": cited.question,
        "references": references,
        "response_length": sum(words(sentence.text) for sentence in cited.sentences()),
        "answer": answer,
        "metadata": {
            "team_id": submission.team_id,
            "run_id": submission.run_id,
            "type": submission.run_type,
            "narrative_id": topic,
            "narrative": cited.question,
            "conversation": cited.id.conversation,
            "turn": cited.id.number,
        },
    }
    return to_json_bytes(record) + b"\n"


def words(text: str) -> int:
    """Count words as the track's checks do: separated by blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())


FORMAT = Format("trec-rag", write)
