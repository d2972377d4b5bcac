"""Answers in the formats of others: one module a format, none of which loses or shifts a citation."""

from __future__ import annotations

from convqa.errors import InputError, nearest
from convqa.exports import evidence, ikat, jwhr, text, trec, trec_rag
from convqa.exports.base import Format, Submission, Tally, export
from convqa.exports.cited import CitedAnswer, Source

_OTHERS = (ikat.FORMAT, jwhr.FORMAT, evidence.FORMAT, text.FORMAT, trec.FORMAT)
FORMATS = {format.name: format for format in (*trec_rag.FORMATS, *_OTHERS)}
OF_ANSWERS = [name for name, format in FORMATS.items() if format.needs_answers]

__all__ = ["FORMATS", "OF_ANSWERS", "CitedAnswer", "Format", "Source", "Submission", "Tally", "export", "find_format"]


def find_format(name: str) -> Format:
    """The format of this name; an ``InputError`` names those that there are."""
    if name not in FORMATS:
        raise InputError(f"format {name!r} is not known; there are {', '.join(FORMATS)}.{nearest(name, FORMATS)}")
    return FORMATS[name]
