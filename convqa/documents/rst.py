"""reStructuredText (.rst), read through docutils' HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from docutils import ApplicationError, nodes
from docutils.core import publish_doctree, publish_from_doctree

from convqa.documents.blocks import Document, Unreadable
from convqa.documents.html import read_markup
from convqa.documents.text import decoded
from convqa.domain import MetaValue

MAX_CHARACTERS = 1_000_000
"""Limit of a document. docutils reads about 50,000 characters a second."""

_MAX_DIRECTIVES = 5
"""Depth to which unknown directives are read within each other."""
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "line_length_limit": 100_000,
    "syntax_highlight": "none",
    "embed_stylesheet": False,
    "output_encoding": "unicode",
}
_ROLE = re.compile(r":[\w:.+-]+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
"""An interpreted text of Sphinx, such as :ref:`the rules <rules>`."""
_REFERENCE = re.compile(r"\s*\[(?:\d+|#[\w-]*|\*)\]_")
"""A reference to a footnote."""
_DIRECTIVE = re.compile(r"\s*\.\. [^\n]*?::([^\n]*)((?:\n\s+:[\w-]+:[^\n]*)*)")
"""The first lines of a directive: its name, arguments and options."""
_META = ("author", "date", "version")
_NOT_SHOWN = (nodes.label, nodes.classifier)


def read_rst(data: bytes) -> Document:
    """Read a reStructuredText.

    Unknown directives and roles, such as Sphinx's, are read as their text. No files are included.

    :raises Unreadable: if it has no text, or is too long.
    """
    text = decoded(data)
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"it has more than {MAX_CHARACTERS:,} characters; split it")
    try:
        tree = _tree(text)
        meta = _meta(tree)
        markup = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS)
    except (ApplicationError, RecursionError) as error:
        raise Unreadable(f"it is damaged ({type(error).__name__})") from error
    document = read_markup(markup)
    if not document.blocks:
        raise Unreadable("it has no text")
    return replace(document, title=tree.get("title", ""), meta=meta)


def _meta(tree: nodes.document) -> dict[str, MetaValue]:
    """Return the fields of a document that are its meta, and take them out of the text."""
    meta: dict[str, MetaValue] = {}
    for name in _META:
        for field in list(tree.findall(getattr(nodes, name))):
            meta[name] = field.astext()
            field.parent.remove(field)
    return meta


def _tree(text: str, depth: int = 0) -> nodes.document:
    """Return the tree of a text, with the content of unknown directives in their place."""
    text = _REFERENCE.sub("", _ROLE.sub(r"\1", text))
    tree = publish_doctree(text, settings_overrides=_SETTINGS)
    for node in list(tree.findall(lambda node: isinstance(node, _NOT_SHOWN))):
        node.parent.remove(node)
    for message in list(tree.findall(nodes.system_message)):
        source = "".join(block.astext() for block in message.findall(nodes.literal_block))
        message.parent.replace(message, _recovered(source, message[0].astext(), depth) if source else [])
    return tree


def _recovered(source: str, message: str, depth: int) -> Sequence[nodes.Node]:
    """Return the nodes of a piece that docutils refuses, such as a directive that it does not know."""
    opening = _DIRECTIVE.match(source)
    if opening is None or depth >= _MAX_DIRECTIVES:
        return [nodes.literal_block(source, source)]
    argument = opening[1].strip()
    body = textwrap.dedent(source[opening.end() :].strip("\n"))
    # Names of modules and files say nothing.
    is_text = " " in argument or (body and "toctree" not in opening[0])
    return _tree(f"{argument}\n\n{body}", depth + 1).children if is_text and "disabled" not in message else []
