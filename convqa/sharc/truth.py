"""Read the truth of each utterance: the answer and the rule text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.files import refuse_bom
from convqa.sharc.input import form_of, read_records, source
from convqa.sharc.schema import EXPECTED, UTTERANCES, Form, Open, normalize
from convqa.tasks.files import read_start
from convqa.tasks.scores import Gold, GoldTurn


@dataclass(frozen=True, slots=True)
class ShARCTruth(GoldTurn):
    """``answer``: a label or a follow-up question. ``snippet_id``: the id of the rule text, "" if unknown.

    ``fields``: tree_id, source_url, ``class`` (of the answer) and ``follow_ups`` (their number); in the open-retrieval
    form also gold_snippet_id and snippet_seen.
    """

    answer: str
    snippet_id: str


@dataclass(frozen=True, slots=True)
class ShARCGold(Gold[ShARCTruth]):
    """The truth, with the form of its file."""

    form: Form


def read(path: Path) -> ShARCGold:
    """Read the answers in a file, or in the only one of a folder."""
    file = source(path)
    refuse_bom(file, read_start(file, EXPECTED, 3))
    form = form_of(file)
    utterances = UTTERANCES[form]
    turns = []
    for label, record in read_records(file):
        if record.answer is None:
            raise utterances.mistake(
                file,
                label,
                "answer: is missing; expected a label or a question",
            )
        answer = normalize(record.answer, form)
        fields: dict[str, Any] = {
            "tree_id": record.tree_id,
            "source_url": record.source_url,
            "class": answer.label,
            "follow_ups": len(record.history),
        }
        snippet_id = ""
        if isinstance(record, Open):
            fields |= record.model_dump(include={"gold_snippet_id", "snippet_seen"}, exclude_none=True)
            snippet_id = record.gold_snippet_id or ""
        turns.append(
            ShARCTruth(
                TurnId(record.utterance_id, 1),
                fields,
                record.answer,
                snippet_id,
            )
        )
    return ShARCGold(path, tuple(turns), form)
