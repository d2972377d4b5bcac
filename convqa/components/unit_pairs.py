"""The input of the reader of units, for stations that read with it."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.components.history import first_and_latest
from convqa.domain import Hit, Rewrite, Turn
from convqa.models.kinds.unit_reader import AskedQuestion, UnitPassage
from convqa.text.units import units

UnitPair = tuple[AskedQuestion, UnitPassage]

UNITS_LANGUAGE = "en"
"""The language of the shipped reader."""

_MAX_EXCHANGES = 2
"""Exchanges that are read with the question."""


def unit_pairs(turn: Turn, rewrite: Rewrite, hits: Sequence[Hit]) -> list[UnitPair | None]:
    """Return the question in its conversation with the units of each passage.

    None for a hit without text, and for all hits of a turn in another language than the reader's.
    """
    latest = first_and_latest(turn.history, _MAX_EXCHANGES)[-_MAX_EXCHANGES:]
    history = tuple((exchange.question, exchange.answer or "") for exchange in latest)
    asked = AskedQuestion(turn.question, rewrite.text, history)
    pairs: list[UnitPair | None] = []
    for hit in hits:
        passage = hit.passage
        if turn.language != UNITS_LANGUAGE or passage is None or not passage.text.strip():
            pairs.append(None)
            continue
        texts = tuple(passage.text[unit.start : unit.end] for unit in units(passage, turn.language))
        pairs.append((asked, UnitPassage(passage.context, texts)))
    return pairs
