"""Read a PDF: its pages within limits, its properties, and what was not read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pypdfium2 import PdfDocument, PdfiumError, raw

from convqa.documents.blocks import Document, Unreadable
from convqa.documents.pdf_blocks import blocks_of
from convqa.documents.pdf_layout import elements_of
from convqa.documents.pdf_page import PdfPage, read_page
from convqa.documents.text import clean
from convqa.domain import MetaValue

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
    read = min(len(pdf), _MAX_PAGES)
    pages = [read_page(pdf, number) for number in range(1, read + 1)]
    sheets = [sheet for page in pages for sheet in page.sheets]
    if not sheets:
        raise Unreadable("it has no text: run OCR on a scan first")
    elements = list(elements_of(sheets))
    words = chain.from_iterable(sheet.words for sheet in sheets)
    properties = pdf.get_metadata_dict(skip_empty=True)
    return Document(
        blocks=tuple(blocks_of(elements, words)),
        title=clean(properties.get("Title", "")),
        meta=_meta(properties),
        unread=tuple(_unread(pages, len(pdf))),
    )


def _unread(pages: Sequence[PdfPage], total: int) -> Iterator[str]:
    """Yield what is not read."""
    if len(pages) < total:
        yield f"pages {len(pages) + 1:,} to {total:,} were not read, because it is too long"
    for state, one, many in (("picture", "a picture", "pictures"), ("damaged", "damaged", "damaged")):
        numbers = [str(page.number) for page in pages if page.state == state]
        if len(numbers) == 1:
            yield f"page {numbers[0]} is {one}"
        elif numbers:
            yield f"{len(numbers)} of {len(pages)} pages are {many}: {', '.join(numbers)}"


def _meta(properties: Mapping[str, str]) -> dict[str, MetaValue]:
    meta: dict[str, MetaValue] = {}
    if "Author" in properties:
        meta["author"] = clean(properties["Author"])
    day = _DATE.match(properties.get("CreationDate") or properties.get("ModDate", ""))
    if day:
        meta["date"] = "-".join(day.groups())
    return meta
