"""TREC RAG: a JSON line for each turn, whose sentences cite a list of passage ids by place, from 0.

The fields are those of Ragnarök's results of 2024 (run_id, topic_id, topic, references, response_length, answer;
Pradeep et al., arXiv 2406.16828) with the metadata that the track's check of 2025 asks for (team_id, run_id, type,
narrative_id, narrative), so that one file serves both. What is ours in the metadata, ``conversation`` and ``turn``, is
whose answer it is.
"""

from __future__ import annotations

from functools import partial

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.exports.trec_rag_rules import MOST_REFERENCES, Check, words
from convqa.files import log, to_json_bytes


def write(cited: CitedAnswer, submission: Submission, most: int) -> bytes:
    """The line of one turn. A passage that a sentence cites at two places is cited once: there are no places here.

    The topic is the conversation where it has one turn, else ``CONVERSATION_TURN``. References are what is cited, in
    that order.

    :param most: references; of more the first are kept, with a warning that names the others.
    """
    said = cited.said()
    topic = str(cited.id.conversation) if cited.alone else str(cited.id)
    ids = list(dict.fromkeys(citation.passage_id for sentence in said for citation in sentence.citations))
    if len(ids) > most:
        log.warning(
            "turn %s cites %d passages; trec-rag takes the first %d. Left out: %s",
            cited.id, len(ids), most, ", ".join(ids[most:]),
        )  # fmt: skip
    places = {id: place for place, id in enumerate(ids[:most])}
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
            "conversation": cited.id.conversation,
            "turn": cited.id.number,
        },
    }
    return to_json_bytes(record) + b"\n"


FORMATS = [
    Format(
        "trec-rag",
        "TREC RAG's answers, a JSON line each",
        partial(write, most=MOST_REFERENCES[2024]),
        check=partial(Check, 2024, 2025),
    ),
    Format(
        "trec-rag-2025",
        "the same, with up to 100 references",
        partial(write, most=MOST_REFERENCES[2025]),
        check=partial(Check, 2025),
    ),
]
