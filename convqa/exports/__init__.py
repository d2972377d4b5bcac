"""Export answers to other formats, one module per format. No format loses or shifts a citation."""

from __future__ import annotations

from functools import cache
from typing import Any

from convqa.errors import InputError, nearest
from convqa.exports import ikat, text, trec, trec_rag
from convqa.exports.base import Format, Submission, export
from convqa.exports.cited import CitedAnswer
from convqa.plugins import load, plugins

GROUP = "convqa.exports"
"""The entry point group of the formats of tasks and of other packages: name = module:Format."""

__all__ = ["FORMATS", "OF_ANSWERS", "CitedAnswer", "Format", "Submission", "export", "find_format"]


@cache
def formats() -> dict[str, Format]:
    """Return all formats by name."""
    own = (*trec_rag.FORMATS, ikat.FORMAT, text.FORMAT, trec.FORMAT)
    outside = {name: load(point) for name, point in plugins(GROUP).items()}
    return {format.name: format for format in own} | outside


def __getattr__(name: str) -> Any:
    if name == "FORMATS":
        return formats()
    if name == "OF_ANSWERS":
        return [format.name for format in formats().values() if format.needs_answers]
    raise AttributeError(name)


def find_format(name: str) -> Format:
    """Return the format of this name, or raise ``InputError``."""
    known = formats()
    if name not in known:
        raise InputError(f"unknown format {name!r}; expected {', '.join(known)}.{nearest(name, known)}")
    return known[name]
