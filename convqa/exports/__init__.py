"""Export answers to other formats, one module per format. No format loses or shifts a citation."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from convqa.errors import InputError, nearest
from convqa.exports.base import Format, Submission, export
from convqa.exports.cited import CitedAnswer
from convqa.plugins import load_all

__all__ = ["GROUP", "CitedAnswer", "Format", "Submission", "export", "find_format", "formats"]

GROUP = "convqa.exports"
"""The entry point group of further formats: name = module:FORMAT."""


def formats() -> dict[str, Format]:
    """Return all formats by name: those of the modules here, and those of entry points."""
    return dict(sorted({**load_all(GROUP), **_own()}.items()))


@cache
def _own() -> dict[str, Format]:
    """Return the formats in the modules of this folder."""
    own: dict[str, Format] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        own |= {value.name: value for value in vars(module).values() if isinstance(value, Format)}
    return own


def find_format(name: str) -> Format:
    """Return the format of this name, or raise ``InputError``."""
    known = formats()
    if name not in known:
        raise InputError(f"unknown format {name!r}; expected {', '.join(known)}.{nearest(name, known)}")
    return known[name]
