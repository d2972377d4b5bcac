"""Export answers to other formats, one module per format. No format loses or shifts a citation."""

from __future__ import annotations

from convqa.errors import InputError, nearest
from convqa.exports import evidence, ikat, jwhr, text, trec, trec_rag
from convqa.exports.base import Format, Submission, export
from convqa.exports.cited import CitedAnswer

_ALL = (*trec_rag.FORMATS, ikat.FORMAT, jwhr.FORMAT, evidence.FORMAT, text.FORMAT, trec.FORMAT)
FORMATS = {format.name: format for format in _ALL}
OF_ANSWERS = [format.name for format in _ALL if format.needs_answers]

__all__ = ["FORMATS", "OF_ANSWERS", "CitedAnswer", "Format", "Submission", "export", "find_format"]


def find_format(name: str) -> Format:
    """Return the format of this name, or raise ``InputError``."""
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}; expected {', '.join(FORMATS)}.{nearest(name, FORMATS)}")
    return FORMATS[name]
