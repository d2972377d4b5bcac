"""Export answers to other formats, one module per format. No format loses or shifts a citation."""

from __future__ import annotations

from convqa.errors import InputError, nearest
from convqa.exports.base import Format, Submission, export
from convqa.exports.cited import CitedAnswer
from convqa.plugins import load_all

__all__ = ["GROUP", "CitedAnswer", "Format", "Submission", "export", "find_format", "formats"]

GROUP = "convqa.exports"
"""The entry point group of further formats: name = module:FORMAT."""


def formats() -> dict[str, Format]:
    """Return all formats by name: those of the modules here, and those of entry points."""
    from convqa.exports import ikat, text, trec, trec_rag

    own = (ikat.FORMAT, text.FORMAT, trec.FORMAT, trec_rag.FORMAT)
    known = load_all(GROUP) | {format.name: format for format in own}
    return dict(sorted(known.items()))


def find_format(name: str) -> Format:
    """Return the format of this name, or raise ``InputError``."""
    known = formats()
    if name not in known:
        raise InputError(f"unknown format {name!r}; expected {', '.join(known)}.{nearest(name, known)}")
    return known[name]
