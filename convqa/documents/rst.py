"""reStructuredText (.rst), read through docutils' HTML."""

from __future__ import annotations

import re

from docutils.core import publish_string

from convqa.documents.blocks import Document
from convqa.documents.html import read_markup
from convqa.documents.text import decoded

_SETTINGS = {
    "_disable_config": True,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "line_length_limit": 10_000_000,
    "output_encoding": "unicode",
    "raw_enabled": False,
    "report_level": 5,
    "syntax_highlight": "none",
}
_ROLE = re.compile(r":[\w:.+-]+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
"""An interpreted text of Sphinx, such as :ref:`the rules <rules>`."""
_REFERENCE = re.compile(r"\s*\[(?:\d+|#[\w-]*|\*)\]_")
"""A reference to a footnote."""
_DIRECTIVE = re.compile(
    r"\.\. (?:py:\w+|attribute|card|centered|class|confval|currentmodule|data|deprecated|describe|details|dropdown|"
    r"envvar|exception|function|glossary|grid|grid-item-card|hlist|method|module|only|option|property|seealso|setting|tab|"
    r"tab-item|tab-set|tabs|todo|version\w+)::(.*)((?:\n\s+:[\w-]+:.*)*)"
)
"""A directive of Sphinx whose content is text, with its options."""


def read_rst(data: bytes) -> Document:
    """Read a reStructuredText.

    The commonest directives and the roles of Sphinx are read as their text. No files are included.
    """
    text = _ROLE.sub(r"\1", decoded(data))
    text = _REFERENCE.sub("", text)
    text = _DIRECTIVE.sub(r"\1\n", text)
    return read_markup(publish_string(text, writer="html5", settings_overrides=_SETTINGS))
