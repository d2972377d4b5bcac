"""The turns that a report shows, with their passages and answers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from convqa.driver.responses import read_responses
from convqa.errors import InputError
from convqa.experiments.compare import Comparison, extremes, questions_of
from convqa.exports import replies
from convqa.indexing import read_passages

EXAMPLES = 6
"""Number of turns, half with the largest gains and half with the largest losses."""
EARLIER_QUESTIONS = 3
TOP_PASSAGES = 3
"""Passages of a turn, in addition to its citations."""
MAX_TEXT_CHARS = 400
"""Characters of a passage."""


def examples(
    compared: Comparison,
    row: str,
    lead: str,
    run: Path,
    source: Path,
) -> list[dict[str, Any]]:
    """Return the turns with the largest gains and losses in the measure ``lead``, with the row's results.

    :raises InputError: if the run's folder has no responses.
    """
    questions = questions_of(compared)
    chosen = {turn.id: turn for turn in extremes(compared.turns(row, lead, questions), EXAMPLES)}
    evaluation = compared.evaluations[row]
    judged = evaluation.task.judged(evaluation.gold, evaluation.task.read_run(run))
    responses = (response for response in read_responses(run) if response.id in chosen)
    results = {response.id: replies.turn(response, "", row) for response in responses}
    top = {hit.id for reply in results.values() for hit in reply.ranking[:TOP_PASSAGES]}
    texts: dict[str, str] = {}
    with suppress(InputError):  # the input may have no passages of its own
        for passage in read_passages([source]):
            if passage.id in top:
                texts[passage.id] = passage.text[:MAX_TEXT_CHARS]
    shown = []
    for id, turn in chosen.items():
        reply = results.get(id)
        hits = reply.ranking[:TOP_PASSAGES] if reply else []
        before = [other for other in questions if other.conversation == id.conversation and other.number < id.number]
        shown.append(
            {
                "turn": turn,
                "reply": reply,
                "passages": [(hit, texts.get(hit.id, "")) for hit in hits],
                "earlier": [questions[other] for other in before[-EARLIER_QUESTIONS:]],
                "relevant": judged.relevant.get(str(id), ()) if judged else (),
            }
        )
    return shown
