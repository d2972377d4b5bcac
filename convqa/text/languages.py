"""The languages with an analyzer: convqa's own, and those of other packages by entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint

from convqa.plugins import plugins

GROUP = "convqa.languages"
"""Entry points of languages in other packages: code = a function without parameters that returns an Analyzer."""

_OWN = {
    "de": "convqa.text.german:german_analyzer",
    "en": "convqa.text.english.analysis:english_analyzer",
    "ja": "convqa.text.japanese:japanese_analyzer",
    "pl": "convqa.text.polish:polish_analyzer",
}


@cache
def languages() -> dict[str, EntryPoint]:
    """Return the languages by code, without importing them. convqa's own cannot be replaced."""
    own = {code: EntryPoint(code, value, GROUP) for code, value in _OWN.items()}
    return plugins(GROUP) | own
