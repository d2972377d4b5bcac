"""Read Markdown, through HTML."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from convqa.documents.blocks import Document
from convqa.documents.html import read_markup
from convqa.documents.text import decoded, meta_of
from convqa.errors import InputError
from convqa.safe_yaml import parse_yaml

logger = logging.getLogger(__name__)

_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_MAX_FRONT_MATTER_CHARS = 20_000
_CONTAINER = re.compile(
    r"(?m)^[ \t]*:{3,}[ \t]*(?:\{.*|[\w-]*)[ \t]*|^([ \t]*>[ \t]*)\[!\w+\]|(?<=\w)[ \t]*\{#[\w-]+\}[ \t]*$"
)
"""Marks of Docusaurus's and GitHub's admonitions, and anchors of headings."""


def read_markdown(data: bytes) -> Document:
    """Read Markdown: CommonMark with tables, footnotes, definition lists, admonitions and front matter."""
    text, front = _front_matter(decoded(data))
    document = read_markup(_markdown().render(_CONTAINER.sub(lambda match: match[1] or "", text)))
    meta = meta_of(front)
    return Document(
        document.blocks,
        str(meta.pop("title", "")),
        meta,
        document.unread,
    )


def _front_matter(text: str) -> tuple[str, Mapping[Any, Any]]:
    """Return a text without its front matter, and the values in it. Front matter that is no YAML stays text."""
    match = _FRONT_MATTER.match(text)
    if match is None or len(match[1]) > _MAX_FRONT_MATTER_CHARS:
        return text, {}
    try:
        values = parse_yaml(match[1], "front matter")
    except InputError as error:
        logger.warning("%s It is read as text.", error)
        return text, {}
    return (text[match.end() :], values) if isinstance(values, dict) else (text, {})


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return parser.use(admon_plugin).use(deflist_plugin).use(footnote_plugin)
