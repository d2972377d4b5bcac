"""reStructuredText (.rst), read through docutils' HTML."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from docutils import nodes
from docutils.core import publish_string
from docutils.parsers.rst import Directive, directives
from docutils.parsers.rst.languages import en

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
_DIRECTIVE = re.compile(r"\.\. ([\w:.+-]+?) ?::")
_SUBTITLE = re.compile(r'<p class="subtitle"(.*?)</p>', re.S)
"""A subtitle has the next level of headings, to which docutils lifts the headings below it."""
_NO_TEXT = re.compile(
    r"(\w+:)?(auto.*|currentmodule|default-domain|.*diagram|graphviz|highlight.*|index|literalinclude|mermaid|namespace.*|"
    r"plot|tabularcolumns|toctree|uml)"
)
"""Directives of Sphinx and its extensions whose content is no text."""


class _TextDirective(Directive):
    """A directive that docutils does not know. Its argument and its content are read as text."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    # Any option. docutils takes an empty mapping for none.
    option_spec = defaultdict(lambda: directives.unchanged, name=directives.unchanged)

    def run(self) -> Any:
        content = nodes.container()
        for argument in self.arguments:
            words, _ = self.state.inline_text(argument, self.lineno)
            content += nodes.paragraph("", "", *words)
        self.state.nested_parse(self.content, self.content_offset, content)
        return content.children


class _CodeDirective(_TextDirective):
    """Code with the options of Sphinx, such as a caption, which docutils refuses."""

    def run(self) -> Any:
        code = "\n".join(self.content)
        return [nodes.literal_block(code, code)]


def read_rst(data: bytes) -> Document:
    """Read a reStructuredText.

    Directives and roles of Sphinx and its extensions are read as their text. No files are included.
    """
    text = _ROLE.sub(r"\1", decoded(data))
    text = _REFERENCE.sub("", text)
    for name in ("code", "code-block", "sourcecode"):
        directives.register_directive(name, _CodeDirective)
    for name in set(_DIRECTIVE.findall(text)).difference(en.directives):
        if not _NO_TEXT.fullmatch(name):
            directives.register_directive(name, _TextDirective)
    # Without a title, the name of the source is the title of the page.
    page = publish_string(
        text,
        source_path="untitled",
        writer="html5",
        settings_overrides=_SETTINGS,
    )
    return read_markup(_SUBTITLE.sub(r"<h1\1</h1>", page))
