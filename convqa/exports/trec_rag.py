"""TREC RAG: a JSON line for each turn, whose sentences cite a list of passage ids by place, from 0.

The fields are those of Ragnarök's results of 2024 (run_id, topic_id, topic, references, response_length, answer;
Pradeep et al., arXiv 2406.16828) with the metadata that the track's check of 2025 asks for (team_id, run_id, type,
narrative_id, narrative), so that one file serves both.
"""

from __future__ import annotations

import unicodedata

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import log, to_json_bytes

REFERENCES = 100
"""More the track's check cuts off, with their citations."""


def write(cited: CitedAnswer, submission: Submission) -> bytes:
    """The line of one turn. A passage that a sentence cites at two places is cited once: there are no places here.

    Of more than 100 cited passages the first 100 are kept, with a warning.
    """
    said, topic = cited.said(), str(cited.id)
    ids = list(dict.fromkeys(citation.passage_id for sentence in said for citation in sentence.citations))
    if len(ids) > REFERENCES:
        log.warning("turn %s cites %d passages; trec-rag takes the first %d", cited.id, len(ids), REFERENCES)
    places = {id: place for place, id in enumerate(ids[:REFERENCES])}
    answer = [
        {
            "text": sentence.text,
            "citations": list(
                dict.fromkeys(places[c.passage_id] for c in sentence.citations if c.passage_id in places)
            ),
        }
        for sentence in said
    ]
    record = {
        "run_id": submission.run_id,
        "topic_id": topic,
        "topic": cited.question,
        "references": list(places),
        "response_length": sum(words(sentence.text) for sentence in said),
        "answer": answer,
        "metadata": {
            "team_id": submission.team_id,
            "run_id": submission.run_id,
            "type": "automatic",
            "narrative_id": topic,
            "narrative": cited.question,
        },
    }
    return to_json_bytes(record) + b"\n"


def words(text: str) -> int:
    """How many words the track's check counts: what stands between blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())


FORMAT = Format("trec-rag", "TREC RAG's answers, a JSON line each", write)
