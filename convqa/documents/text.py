"""Read plain text, and decode that of other formats."""

from __future__ import annotations

import logging
import re
from codecs import lookup
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any

from convqa.documents.blocks import Block, Document, Unreadable
from convqa.domain import MetaField, MetaValue
from convqa.files import replace_surrogates
from convqa.text.units import parts

logger = logging.getLogger(__name__)

_CHARSET = re.compile(rb"""(?i)<(?:meta|\?xml)[^>]{1,200}(?:charset|encoding)\s*=\s*["']?([\w-]+)""")
_MAX_CHARSET_BYTES = 4096
"""Where browsers look for a page's charset: in its first kilobytes."""
_AS_SHOWN = {
    "ascii": "cp1252",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
}
"""A charset -> the larger one that browsers read in its place."""
_MAX_DAMAGED_SHARE = 0.2
"""Damaged letters of text that is still UTF-8, of those that are not ASCII."""
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\u00ad\ufdd0\ufeff]")
RAISED = "\ufdd0"
"""Stands before superscripts until :func:`clean`."""
_EXPONENT = re.compile(rf"(?<=\d){RAISED}(?=\d)")
"""Without a mark, 10 to the power of 6 is 106, and 4.50 with the footnote 1 is 4.501."""
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}


def decoded(data: bytes) -> str:
    """Return the text of a document's bytes, with line ends ``\\n`` and without control characters.

    The charset is UTF-8, or else the declared one of HTML, or a guess, with a warning.

    :raises Unreadable: for binary data.
    """
    with suppress(UnicodeDecodeError):
        return clean(data.decode())
    if declared := _CHARSET.search(data[:_MAX_CHARSET_BYTES]):
        with suppress(UnicodeDecodeError, LookupError):
            return clean(data.decode(_charset(declared[1].decode("ascii"))))
    text = data.decode(errors="replace")
    damaged = text.count("\ufffd")
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    if damaged <= _MAX_DAMAGED_SHARE * foreign:
        logger.warning("it has letters that are not UTF-8: %d", damaged)
        return clean(text)
    import chardet

    guess = chardet.detect(data)["encoding"]
    # UTF-16 without a mark of its byte order has a NUL in each letter of ASCII.
    is_wide = guess in ("UTF-16", "UTF-32") or 5 * data.count(0) >= len(data)
    if guess is None or (b"\x00" in data and not is_wide):
        raise Unreadable("it contains binary data")
    charset = _charset(guess)
    logger.warning("it is not UTF-8, and read as %s", charset)
    return clean(data.decode(charset, "replace"))


def _charset(name: str) -> str:
    """Return the charset that is read for a name. :raises LookupError: for an unknown one."""
    charset = lookup(name).name
    return _AS_SHOWN.get(charset, charset)


def clean(text: str) -> str:
    """Return a text without control characters, soft hyphens, ligatures and lone surrogates, exponents as in 10^6."""
    marked = _EXPONENT.sub("^", replace_surrogates(text))
    without = _CONTROLS.sub("", marked).translate(_LIGATURES)
    return without.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\f", "\n")


def read_text(data: bytes) -> Document:
    """Read plain text: its paragraphs, and the lists, tables and headings that its lines show."""
    return _of_lines(decoded(data))


def meta_of(values: Mapping[Any, Any]) -> dict[str, MetaField]:
    """Return the values that filters can compare: dates as ISO 8601, and lists, without nested ones and mappings."""
    meta: dict[str, MetaField] = {}
    for name, value in values.items():
        if isinstance(value, date):
            value = value.isoformat()[:10]
        if isinstance(value, list):
            value = [item for item in value if isinstance(item, MetaValue)]
        if isinstance(value, MetaValue | list) and value not in ("", []):
            meta[str(name)] = value
    return meta


def _of_lines(text: str) -> Document:
    blocks: list[Block] = []
    for part in parts(text):
        piece = text[part.start : part.end]
        if part.kind in ("row", "header"):
            cells = re.split(r"(?<!\\)\|", piece.strip("|"))
            blocks.append(Block(part.kind, cells=tuple(cell.strip() for cell in cells)))
        elif part.is_numbered and part.kind == "item":
            marker, _, rest = piece.partition(" ")
            blocks.append(Block("item", rest, part.level, marker))
        else:
            blocks.append(Block(part.kind, piece, part.level))
    return Document(tuple(blocks))
