"""Read a PDF: its pages within limits, its properties, and what was not read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pypdfium2 import PdfDocument, PdfiumError, raw

from convqa.documents.blocks import Document, Unreadable
from convqa.documents.pdf_blocks import blocks_of
from convqa.documents.pdf_layout import elements_of
from convqa.documents.pdf_lines import Sheet
from convqa.documents.pdf_page import has_picture, read_page, recognized
from convqa.documents.text import clean
from convqa.domain import MetaField

_MAX_PAGES = 5_000
"""Pages that are read, because a small file can name one page any number of times."""
_DATE = re.compile(r"(?:D:)?(\d{4})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def read_pdf(data: bytes) -> Document:
    """Return the blocks of a PDF, with its title, author and date.

    :raises Unreadable: if the PDF is damaged, encrypted or has no text.
    """
    try:
        pdf = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise Unreadable("it is encrypted; save it without its password") from error
        raise Unreadable("it is damaged or no PDF") from error
    try:
        return _document(pdf)
    finally:
        pdf.close()


def _document(pdf: Any) -> Document:
    pdf.init_forms()
    sheets: list[Sheet] = []
    unread: list[str] = []
    pictures: list[str] = []
    recognized_pages = set()
    total = len(pdf)
    for number in range(1, min(total, _MAX_PAGES) + 1):
        try:
            page = read_page(pdf, number)
            if not page and has_picture(pdf[number - 1]):
                page = recognized(pdf[number - 1], number)
                if page:
                    recognized_pages.add(number)
                else:
                    pictures.append(str(number))
        except PdfiumError:
            unread.append(f"page {number} is damaged")
            continue
        sheets += page
    if not sheets:
        raise Unreadable("it has no text: run OCR on a scan first, or pip install 'convqa[ocr]'")
    if len(pictures) == 1:
        unread.append(f"page {pictures[0]} is a picture")
    elif pictures:
        unread.append(f"{len(pictures)} of {total} pages are pictures: {', '.join(pictures)}")
    if total > _MAX_PAGES:
        unread.append(f"pages {_MAX_PAGES + 1:,} to {total:,} were not read, because it is too long")
    properties = pdf.get_metadata_dict(skip_empty=True)
    blocks = blocks_of(list(elements_of(sheets)))
    return Document(
        tuple(blocks),
        clean(properties.get("Title", "")),
        _meta(properties),
        tuple(unread),
        min(total, _MAX_PAGES) - len(pictures),
        frozenset(recognized_pages),
    )


def _meta(properties: Mapping[str, str]) -> dict[str, MetaField]:
    meta: dict[str, MetaField] = {}
    if "Author" in properties:
        meta["author"] = clean(properties["Author"])
    day = _DATE.match(properties.get("CreationDate") or properties.get("ModDate", ""))
    if day:
        meta["date"] = "-".join(day.groups())
    return meta
