"""Formats of documents: convqa's own, and those of other packages.

A format of another package is an entry point of the group ``convqa.document_formats``, a :class:`DocumentFormat`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from convqa.documents.blocks import Document
from convqa.plugins import load, plugins
from convqa.validation import expect_type

GROUP = "convqa.document_formats"
"""Entry points of formats in other packages: name = module:object."""

_OWN = {
    ".txt": "text:read_text",
    ".md": "markdown:read_markdown",
    ".markdown": "markdown:read_markdown",
    ".html": "html:read_html",
    ".htm": "html:read_html",
    ".xhtml": "html:read_html",
    ".rst": "rst:read_rst",
    ".docx": "word:read_docx",
    ".odt": "opendocument:read_odt",
    ".epub": "epub:read_epub",
    ".pptx": "slides:read_pptx",
    ".xlsx": "sheets:read_xlsx",
    ".csv": "sheets:read_csv",
    ".pdf": "pdf:read_pdf",
}
"""Suffix -> module and function, which is imported when a document is read."""


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A kind of documents, by the lower-case suffixes of their names, and how their bytes are read.

    ``read`` raises :class:`~convqa.documents.Unreadable` for a document without readable text.
    """

    suffixes: tuple[str, ...]
    read: Callable[[bytes], Document]


def document_formats() -> dict[str, DocumentFormat]:
    """Return all formats by suffix. One of another package replaces convqa's own.

    :raises InputError: for an entry point that is no format.
    """
    formats = {suffix: DocumentFormat((suffix,), _reader(place)) for suffix, place in _OWN.items()}
    for name, point in plugins(GROUP).items():
        found = load(point)
        expect_type(
            f"{name} (an entry point of {GROUP})",
            found,
            DocumentFormat,
            "a convqa.documents.DocumentFormat",
        )
        formats |= dict.fromkeys(found.suffixes, found)
    return formats


def _reader(place: str) -> Callable[[bytes], Document]:
    module, _, function = place.partition(":")

    def read(data: bytes) -> Document:
        document: Document = getattr(import_module(f"convqa.documents.{module}"), function)(data)
        return document

    return read
