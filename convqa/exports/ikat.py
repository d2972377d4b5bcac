"""TREC iKAT 2025: a JSON line per turn, whose sentences cite passage ids with their scores.

The fields are those that the track's scripts read (irlabamsterdam/iKAT, 2025/scripts): ``references`` is the ranking,
at most 1,000 ids with their scores, which becomes a TREC run and contains the ``citations`` of all sentences;
``turn_id`` is TOPIC_TURN, both inside and outside the metadata.
"""

from __future__ import annotations

from convqa.domain import Sentence
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes

REFERENCES = 1000
"""The track's check cuts off more, and then refuses the run."""


def write(cited: CitedAnswer, submission: Submission) -> bytes:
    """Format the line of one turn. A sentence cites a passage once, since the format has no offsets.

    Cited passages are always among the references; an unknown score is 0.
    """
    turn_id, sentences = str(cited.id), cited.sentences()
    responses = [
        {
            "text": sentence.text,
            "citations": {c.passage_id: cited.scores.get(c.passage_id, 0.0) for c in sentence.citations},
            "ptkb_provenance": [],
        }
        for sentence in sentences
    ]
    record = {
        "turn_id": turn_id,
        "metadata": {
            "team_id": submission.team_id,
            "run_id": submission.run_id,
            "run_type": submission.run_type,
            "turn_id": turn_id,
        },
        "references": _references(cited, sentences),
        "responses": responses,
    }
    return to_json_bytes(record) + b"\n"


def _references(cited: CitedAnswer, sentences: tuple[Sentence, ...]) -> dict[str, float]:
    """Return the top of the ranking and all cited passages."""
    needed = {citation.passage_id for sentence in sentences for citation in sentence.citations}
    others = [id for id in cited.scores if id not in needed]
    kept = needed.union(others[: max(0, REFERENCES - len(needed))])
    ranked = {id: score for id, score in cited.scores.items() if id in kept}
    return ranked | dict.fromkeys(sorted(needed - ranked.keys()), 0.0)


_TYPES = ("automatic", "manual", "generation-only")
FORMAT = Format("ikat", write, run_types=_TYPES)
