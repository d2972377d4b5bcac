"""Formats of documents: convqa's own (text, Markdown, HTML, Word, PDF), and those of other packages.

A format of another package is an entry point of the group ``convqa.document_formats``, a :class:`DocumentFormat`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import ZipFile, is_zipfile

from convqa.errors import InputError, reason_of
from convqa.files import replace_surrogates
from convqa.indexing.pages import joined
from convqa.plugins import load, plugins
from convqa.validation import expect_type

GROUP = "convqa.document_formats"
"""Entry points of formats in other packages: name = module:object."""

_MAX_UNPACKED_BYTES = 2**28
"""Limit of the unpacked size of a Word file, against zip bombs."""
_CONTROLS = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\u00ad\ufeff]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_MARKUP = re.compile(r"^(#{1,6}\s+|```.*$|\|[ \t:|-]+\|[ \t]*\n)", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|`)(?=\S)([^\n]{1,200}?)(?<=\S)\1(?!\w)")
_ESCAPED = re.compile(r"\\([\[\]*_<>#`|])")


class Unreadable(Exception):
    """A document has no readable text. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document, with blank lines between paragraphs, and its own title ("" for none).

    ``pages``: the offset in ``text`` of each page, if the document has pages.
    """

    text: str
    title: str = ""
    pages: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A kind of documents, by the lower-case suffixes of their names, and how their bytes are read.

    ``read`` raises :class:`Unreadable` for a document without readable text.
    """

    suffixes: tuple[str, ...]
    read: Callable[[bytes], DocumentText]


def document_formats() -> dict[str, DocumentFormat]:
    """Return all formats by suffix. One of another package replaces convqa's own.

    :raises InputError: for an entry point that is no format.
    """
    formats = list(_OWN)
    for name, point in plugins(GROUP).items():
        found = load(point)
        expect_type(f"{name} (an entry point of {GROUP})", found, DocumentFormat, "a convqa.indexing.DocumentFormat")
        formats.append(found)
    return {suffix: each for each in formats for suffix in each.suffixes}


def _read_text(data: bytes) -> DocumentText:
    return DocumentText(_without_markup(_converted("TextFileToDocument", data)[0]))


def _read_markdown(data: bytes) -> DocumentText:
    content, meta = _converted("MarkdownToDocument", data, progress_bar=False, extract_frontmatter=True)
    return DocumentText(_without_markup(content), _title(meta.get("title")))


def _read_html(data: bytes) -> DocumentText:
    options = {"output_format": "markdown", "include_comments": False}
    content, _ = _converted("HTMLToDocument", data, extraction_kwargs=options)
    text = _EMPHASIS.sub(r"\2", _without_markup(content))
    title = None
    # A readable text does not fail because of its title.
    with suppress(Exception):
        from lxml import html

        title = html.fromstring(data).findtext(".//title")
    return DocumentText(_ESCAPED.sub(r"\1", text), _title(title))


def _read_docx(data: bytes) -> DocumentText:
    if is_zipfile(BytesIO(data)):
        unpacked = sum(part.file_size for part in ZipFile(BytesIO(data)).infolist())
        if unpacked > _MAX_UNPACKED_BYTES:
            raise Unreadable(f"it unpacks to more than {_MAX_UNPACKED_BYTES:,} bytes")
    content, meta = _converted("DOCXToDocument", data, table_format="markdown")
    # Except in tables, each line is a paragraph.
    paragraphs = re.sub(r"\n(?!\|)|(?<!\|)\n", "\n\n", content)
    return DocumentText(_without_markup(paragraphs), _title(meta.get("docx", {}).get("title")))


def _read_pdf(data: bytes) -> DocumentText:
    content, _ = _converted("PyPDFToDocument", data)
    text, pages = joined(content.split("\f"))
    title = None
    # A readable text does not fail because of its title.
    with suppress(Exception):
        from pypdf import PdfReader

        title = PdfReader(BytesIO(data)).metadata.title  # type: ignore[union-attr]
    return DocumentText(text, _title(title), pages)


_OWN = (
    DocumentFormat((".txt",), _read_text),
    DocumentFormat((".md", ".markdown"), _read_markdown),
    DocumentFormat((".html", ".htm"), _read_html),
    DocumentFormat((".docx",), _read_docx),
    DocumentFormat((".pdf",), _read_pdf),
)


def _converted(converter_name: str, data: bytes, **settings: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the text that a converter of Haystack reads, without control characters and ligatures, and its meta.

    :raises InputError: if a package is missing. :raises Unreadable: if the converter fails.
    """
    from haystack.components import converters
    from haystack.dataclasses import ByteStream

    try:
        converter = getattr(converters, converter_name)(**settings)
    except ImportError as error:
        raise InputError(
            f"{converter_name} needs packages that are not installed: pip install 'convqa[documents]'."
        ) from error
    # Converters log their failures.
    failures: list[Any] = []
    logger = logging.getLogger(type(converter).__module__)

    def keep(record: logging.LogRecord) -> bool:
        failures.append(getattr(record, "error", ""))
        return False

    # Warnings of these libraries do not help the user.
    for library in ("pypdf", "trafilatura"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    is_utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    stream = ByteStream(data, meta={"encoding": "utf-16"} if is_utf16 else {})
    logger.addFilter(keep)
    try:
        documents = converter.run([stream])["documents"]
    finally:
        logger.removeFilter(keep)
    if not documents:
        raise Unreadable(_advice(reason_of(failures[-1]) if failures and failures[-1] else ""))
    content = documents[0].content or ""
    if "\x00" in content:
        raise Unreadable("it contains binary data")
    text = _CONTROLS.sub("", replace_surrogates(content)).translate(_LIGATURES)
    return text.replace("\r\n", "\n").replace("\r", "\n"), documents[0].meta


def _advice(failure: str) -> str:
    if "decrypt" in failure:
        return "it is encrypted; save it without its password"
    if "codec can't decode" in failure:
        return "its text is not UTF-8; save it as UTF-8"
    return f"it is damaged or of another type ({failure.rstrip('.')})" if failure else "it has no text"


def _without_markup(text: str) -> str:
    """Return a text without Markdown's headings and fences, form feeds and blanks at line ends."""
    lines = _MARKUP.sub("", text).replace("\f", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)


def _title(value: Any) -> str:
    return str(value or "")
