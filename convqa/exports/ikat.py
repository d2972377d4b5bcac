"""TREC iKAT 2025: a JSON line per turn, whose sentences cite passage ids with their scores.

The fields are those that the track's scripts read (irlabamsterdam/iKAT, 2025/scripts): ``references`` is the ranking,
at most 1,000 ids with their scores, which becomes a TREC run and contains the ``citations`` of all sentences;
``ptkb_provenance`` has the user's statements that the rewrite has words of, as they stand in the topics; ``turn_id`` is
TOPIC_TURN, both inside and outside the metadata.
"""

from __future__ import annotations

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes

MAX_REFERENCES = 1000
"""The track's check cuts off more, and then refuses the run."""


def write(cited: CitedAnswer, submission: Submission) -> bytes:
    """Format the line of one turn. A sentence cites a passage once, since the format has no offsets.

    Cited passages are always among the references.
    """
    turn_id = str(cited.id)
    responses = []
    scores = cited.scores
    for sentence in cited.sentences():
        citations = {citation.passage_id: scores[citation.passage_id] for citation in sentence.citations}
        responses.append(
            {"text": sentence.text, "citations": citations, "ptkb_provenance": list(cited.response.statements)}
        )
    record = {
        "turn_id": turn_id,
        "metadata": {
            "team_id": submission.team_id,
            "run_id": submission.run_id,
            "run_type": submission.run_type,
            "turn_id": turn_id,
        },
        "references": _references(cited),
        "responses": responses,
    }
    return to_json_bytes(record) + b"\n"


def _references(cited: CitedAnswer) -> dict[str, float]:
    """Return the top of the ranking and all cited passages."""
    scores = cited.scores
    needed = set(cited.passage_ids())
    others = [id for id in scores if id not in needed]
    kept = needed.union(others[: max(0, MAX_REFERENCES - len(needed))])
    return {id: score for id, score in scores.items() if id in kept}


FORMAT = Format("ikat", write)
