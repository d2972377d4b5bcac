"""TREC iKAT 2025: a JSON line for each turn, whose sentences cite passage ids with their scores.

The fields are those that the track's scripts read (irlabamsterdam/iKAT, 2025/scripts): ``references`` is the ranking,
at most 1,000 ids with their scores, which becomes a TREC run; the ``citations`` of a sentence are among them;
``turn_id`` is TOPIC_TURN, beside the metadata and in it.
"""

from __future__ import annotations

from convqa.domain import Sentence
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes

REFERENCES = 1000
"""More the track's check cuts off, and then refuses."""


def write(cited: CitedAnswer, submission: Submission) -> bytes:
    """The line of one turn. A passage that a sentence cites at two places is cited once: there are no places here.

    Cited passages are always among the references; one whose score is not known has 0.
    """
    turn_id, said = str(cited.id), cited.said()
    responses = [
        {
            "text": sentence.text,
            "citations": {c.passage_id: cited.scores.get(c.passage_id, 0.0) for c in sentence.citations},
            "ptkb_provenance": [],
        }
        for sentence in said
    ]
    record = {
        "turn_id": turn_id,
        "metadata": {
            "team_id": submission.team_id,
            "run_id": submission.run_id,
            "run_type": submission.run_type,
            "turn_id": turn_id,
        },
        "references": _references(cited, said),
        "responses": responses,
    }
    return to_json_bytes(record) + b"\n"


def _references(cited: CitedAnswer, said: tuple[Sentence, ...]) -> dict[str, float]:
    """The best of the ranking; cited passages stay, however low they stand."""
    needed = {citation.passage_id for sentence in said for citation in sentence.citations}
    others = [id for id in cited.scores if id not in needed]
    kept = needed.union(others[: max(0, REFERENCES - len(needed))])
    ranked = {id: score for id, score in cited.scores.items() if id in kept}
    return ranked | dict.fromkeys(sorted(needed - ranked.keys()), 0.0)


FORMAT = Format(
    "ikat",
    "TREC iKAT 2025's answers, a JSON line each",
    write,
    run_types=("automatic", "manual", "generation-only"),
)
