"""Turn a document into passages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote

from convqa.documents.blocks import Document, Unreadable
from convqa.documents.child import DocumentReader
from convqa.documents.cutting import cut
from convqa.documents.find import DocumentFile, suffix_of
from convqa.documents.layout import laid_out
from convqa.documents.text import clean
from convqa.domain import MetaField, Passage, Unit
from convqa.errors import InputError
from convqa.stores.content import content

_FORMAT = 8
"""Part of every digest. Increased when unchanged files must be read again."""
_MAX_TITLE_CHARS = 200
_MAX_META_CHARS = 10_000
_MAX_UNITS = 250_000
"""Maximum sentences and lines. A million of them take 1.9 GB of memory; five million characters of prose have about
50,000."""
_UNIT_END = re.compile(r"[.!?]\s|[\u3002\uff01\uff1f]|\n")
_MAX_BLOCKS_BEFORE_TITLE = 4
"""Blocks, such as a letterhead, before a heading that is the document's title."""
_NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NO_TITLE = re.compile(
    r"(?i)\W*|untitled.*|about:blank|microsoft word\b.*|(powerpoint )?presentation|(word )?document ?\d*|"
    r".*\.(docx?|pdf|tex|dvi|indd|rtf)"
)
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?)?(?!\d)")
_LETTER_OR_DIGIT = re.compile(r"\w")


class ReadDocument(NamedTuple):
    """The passages of a document, counts of what was read, and what was not, such as "page 2 is a picture"."""

    passages: list[Passage]
    counts: Mapping[str, int]
    unread: tuple[str, ...]


def digest(data: bytes, meta: Mapping[str, MetaField], base_url: str) -> str:
    """Return the digest of a document's version: its bytes and the settings of its passages."""
    settings = f"{_FORMAT} {base_url} {sorted(meta.items()) if meta else ''}"
    return blake2b(settings.encode() + data, digest_size=16).hexdigest()


def read_document(
    file: DocumentFile,
    data: bytes,
    reader: DocumentReader,
    language: str,
    base_url: str = "",
) -> ReadDocument:
    """Return the passages of a document: its text from ``meta.start`` to ``meta.end``, with units.

    ``meta`` also has the document's properties, the ``file`` and, for a document with pages, the ``page`` where the
    passage begins; ``recognized`` is true where its text was recognized in a picture. The first passage also has the
    document's ``digest``. ``url`` is empty without ``base_url``.

    :raises Unreadable: if the document has no readable text.
    """
    name = file.name
    if bad := _NOT_IN_NAMES.search(name):
        raise Unreadable(f"its name has the character U+{ord(bad[0]):04X}; rename it")
    if not data.strip():
        raise Unreadable("it is empty")
    document, warnings = reader.read(suffix_of(name), data)
    text = laid_out(document.blocks)
    if sum(1 for _ in _UNIT_END.finditer(text.text)) > _MAX_UNITS:
        raise Unreadable(f"it has more than {_MAX_UNITS:,} sentences and lines; split it")
    title = _title(document) or PurePosixPath(name).stem
    shared = _meta(file, document, title)
    url = base_url and base_url.rstrip("/") + "/" + quote(name)
    passages = []
    for number, part in enumerate(cut(text, language), 1):
        meta = {**shared, "file": name, "start": part.start, "end": part.end}
        link = url
        if part.page:
            meta["page"] = part.page
            link = url and f"{url}#page={part.page}"
        if part.page in document.recognized:
            meta["recognized"] = True
        if number == 1:
            meta["digest"] = digest(data, file.meta, base_url)
        units = tuple(_without_title(unit, title) for unit in part.units)
        passages.append(Passage(f"{name}_p{number}", text.text[part.start : part.end], title, link, meta, units))
    try:
        for passage in passages:
            content(passage)
    except InputError as error:
        raise Unreadable(str(error)) from error
    if not any(_LETTER_OR_DIGIT.search(passage.text) for passage in passages):
        raise Unreadable("it has no text")
    return ReadDocument(
        passages,
        _counts(document),
        (*document.unread, *warnings),
    )


def _title(document: Document) -> str:
    """Return the document's own title, else a heading at its beginning; "" if it has neither."""
    beginning = document.blocks[:_MAX_BLOCKS_BEFORE_TITLE]
    heading = next((block.text for block in beginning if block.kind == "heading"), "")
    for candidate in (document.title, heading):
        title = " ".join(clean(candidate).split())[:_MAX_TITLE_CHARS]
        if not _NO_TITLE.fullmatch(title):
            return title
    return ""


def _meta(
    file: DocumentFile,
    document: Document,
    title: str,
) -> dict[str, MetaField]:
    """Return the document's properties and, over them, what its folder says, which is the administrator's word.

    :raises Unreadable: if they are too long for every passage.
    """
    meta = {**document.meta, **file.meta}
    if len(str(meta)) > _MAX_META_CHARS:
        raise Unreadable(f"its properties have more than {_MAX_META_CHARS:,} characters; shorten them")
    date = _DATE.search(title) or _DATE.search(PurePosixPath(file.name).stem)
    if date and "date" not in meta:
        meta["date"] = "-".join(filter(None, date.groups()))
    return meta


def _counts(document: Document) -> dict[str, int]:
    """Return the numbers of pages, of tables, and of pages that are recognized."""
    # An empty paragraph ends each table.
    tables = sum(bool(before.cells) and not block.cells for before, block in pairwise(document.blocks))
    return {"pages": document.pages, "tables": tables, "recognized pages": len(document.recognized)}


def _without_title(unit: Unit, title: str) -> Unit:
    """Remove the title from the headings above a unit, because the passage has it, too."""
    headings = unit.heading.split(" > ")
    if headings[0] != title:
        return unit
    return replace(unit, heading=" > ".join(headings[1:]))
