"""The values that flow through convqa: frozen, slotted dataclasses. No I/O, no third-party import.

Offsets are Python code points, half-open ``[start, end)``, into ``Passage.text`` (never title + text).
Every type but conversations, turns and batches has ``to_json`` (plain lists, dicts, strings and numbers) and
``from_json`` (its inverse).
"""

from __future__ import annotations

from convqa.domain.answer import CAVEAT, TOLD, UNAIDED, UNSURE, Answer, AnswerKind, Citation, Reading, Sentence, Span
from convqa.domain.batches import Answers, Rankings, Readings, Rewrites, Turns
from convqa.domain.conversation import (
    DEFAULT_LANGUAGE,
    Conversation,
    Exchange,
    ExchangeStatus,
    MetaField,
    MetaValue,
    Passage,
    Turn,
    TurnId,
    Unit,
    UnitKind,
)
from convqa.domain.evidence import quotes
from convqa.domain.ranking import Hit, NotFinite, Query, Ranking, Rewrite, float32
from convqa.domain.response import Failure, Response

__all__ = [
    "CAVEAT",
    "DEFAULT_LANGUAGE",
    "TOLD",
    "UNAIDED",
    "UNSURE",
    "Answer",
    "AnswerKind",
    "Answers",
    "Citation",
    "Conversation",
    "Exchange",
    "ExchangeStatus",
    "Failure",
    "Hit",
    "MetaField",
    "MetaValue",
    "NotFinite",
    "Passage",
    "Query",
    "Ranking",
    "Rankings",
    "Reading",
    "Readings",
    "Response",
    "Rewrite",
    "Rewrites",
    "Sentence",
    "Span",
    "Turn",
    "TurnId",
    "Turns",
    "Unit",
    "UnitKind",
    "float32",
    "quotes",
]
