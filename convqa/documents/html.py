"""Read HTML: headings, paragraphs, lists, tables and code, without the navigation of a web page."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from convqa.documents.blocks import Block, BlockKind, Document, Unreadable, amounts
from convqa.documents.numbering import numeral
from convqa.documents.tables import MAX_COLUMNS, table
from convqa.documents.text import decoded
from convqa.domain import MetaValue

logger = logging.getLogger(__name__)

_DROPPED = re.compile(
    "area|audio|base|button|canvas|datalist|dialog|embed|head|iframe|link|map|math|meta|nav|noscript|object|option|"
    "script|select|style|svg|template|textarea|track|video"
)
_UNREAD = {"img": "images", "form": "forms"}
"""Elements that are not read, but for the text in them, and what a document's reader calls them."""
_INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|q|rp|rt|ruby|s|samp|"
    "small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_IN_ITEMS = (*_LISTS, "dl", "table", "pre")
"""Elements inside a list item that become blocks of their own, after the item's text."""
_MAX_SPANNED_ROWS = 100
_MAX_DEFINITION_CHARS = 200

_JUNK_NAMES = re.compile(
    r"(?i)(?:^|[\s_-])(?:(?:alert)?dialog|breadcrumbs?|cookies?(?:-?(?:banner|notice|consent))?|consent|gdpr|"
    r"(?:main|site|top|mega)?-?nav(?:bar|igation)?|menu(?:bar)?|pagination|pager|search|share|sharing|"
    r"social(?:-?(?:links|media|share))?|skip-?(?:to-?)?(?:link|nav|content)|newsletter|popup|modal|tablist|toc|"
    r"vector-toc|mw-editsection|navbox|headerlink|noprint|sr-only|visually-?hidden)(?:$|[\s_-])"
)
"""Classes, ids and roles of what surrounds the text of a page."""
_MIN_LINKS = 3
_MAX_LINK_SHARE = 0.8
"""A list or section with this many links, which hold more than this share of its text, is navigation."""
_MAX_MENU_CHARS = 40
"""Average length of the texts of links in navigation. Longer ones are sentences."""

_DATES = ("article:modified_time", "article:published_time", "date", "dc.date", "dcterms.modified", "last-modified")
_AUTHORS = ("author", "dc.creator", "article:author")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_BREAK = "\u2028"
"""Stands for ``<br>`` and the edges of blocks until white space is collapsed."""
_NUMERALS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
"""The type of an ordered list -> the form of its numbers."""


def read_html(data: bytes) -> Document:
    """Read the blocks of a web page.

    :raises Unreadable: if it has no text.
    """
    return read_markup(decoded(data), is_page=True)


def read_markup(text: str, is_page: bool = False) -> Document:
    """Read the blocks of HTML.

    :param is_page: whether navigation, such as menus and lists of links, is left out.
    """
    from lxml import etree, html

    # A declaration of the encoding is of no use in decoded text, and lxml refuses it.
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        root = html.document_fromstring(text, parser=html.HTMLParser(remove_comments=True, remove_pis=True))
    except etree.ParserError as error:
        raise Unreadable("it has no text") from error
    given = _given_meta(root)
    title = root.findtext(".//title") or ""
    body = root.find("body")
    body = root if body is None else body
    _prepare(body, is_page)
    unread = Counter(_UNREAD[element.tag] for element in body.iter(*_UNREAD))
    reader = _HTMLReader()
    reader.walk(body)
    reader.flush()
    return Document(tuple(reader.blocks), _title(title, reader.blocks), _meta(root, given), amounts(unread))


def _prepare(body: Any, is_page: bool) -> None:
    """Remove what is not shown, and mark line breaks and the edges of blocks."""
    for element in list(body.iterdescendants()):
        tag = element.tag
        if tag == "br":
            element.tail = _BREAK + (element.tail or "")
        elif not isinstance(tag, str) or _is_hidden(element) or (is_page and _is_junk(element)):
            if not (isinstance(tag, str) and _INLINE.fullmatch(tag)):
                element.tail = _BREAK + (element.tail or "")
            element.drop_tree()
        elif tag != "pre" and not _INLINE.fullmatch(tag):
            element.text = _BREAK + (element.text or "")
            element.tail = _BREAK + (element.tail or "")


def _is_hidden(element: Any) -> bool:
    if _DROPPED.fullmatch(element.tag) or element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    style = element.get("style") or ""
    return re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", style) is not None


def _is_junk(element: Any) -> bool:
    """Return whether an element is navigation: by its names, or because it consists of links with short texts."""
    names = " ".join(element.get(attribute) or "" for attribute in ("class", "id", "role"))
    if element.tag not in ("main", "article") and _JUNK_NAMES.search(names):
        return True
    if element.tag not in (*_LISTS, "div", "section", "aside", "header", "footer", "p"):
        return False
    links = [_text_of(link) for link in element.iter("a") if link.get("href")]
    if len(links) < _MIN_LINKS:
        return False
    linked = sum(map(len, links))
    return linked > _MAX_LINK_SHARE * len(_text_of(element)) and linked <= _MAX_MENU_CHARS * len(links)


class _HTMLReader:
    """Collects the blocks of elements in order. Text in no block of its own is gathered until the next one."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._gathered: list[str] = []

    def flush(self) -> None:
        """End a paragraph of gathered text."""
        text = _collapsed("".join(self._gathered))
        self._gathered.clear()
        if text:
            self.blocks.append(Block("paragraph", text))

    def walk(self, element: Any) -> None:
        """Read the children of an element."""
        self._gathered.append(element.text or "")
        for child in element:
            if _INLINE.fullmatch(child.tag):
                self.walk(child)
            elif child.tag != "br":
                self.flush()
                self._read(child)
                self.flush()
            self._gathered.append(child.tail or "")

    def _read(self, element: Any) -> None:
        """Read a block."""
        tag = element.tag
        if tag in _HEADINGS or element.get("role") == "heading":
            self._add("heading", element, _HEADINGS.get(tag, 2))
        elif tag in _LISTS:
            self._read_list(element)
        elif tag == "dl":
            self._read_definitions(element)
        elif tag == "table" and _is_table_of_data(element):
            self._read_table(element)
        elif tag == "pre":
            text = "".join(element.itertext()).replace(_BREAK, "\n").replace("\r\n", "\n")
            self.blocks.append(Block("code", text.strip("\n")))
        elif tag in ("caption", "figcaption"):
            self._add("caption", element)
        else:
            self.walk(element)

    def _add(self, kind: BlockKind, element: Any, level: int = 1) -> None:
        text = _line_of(element)
        if kind == "heading":
            text = text.rstrip("\u00b6# ")
        if text:
            self.blocks.append(Block(kind, text, level))

    def _read_list(self, element: Any) -> None:
        number = _number(element.get("start"), 1)
        form = _NUMERALS.get(element.get("type"), "")
        for child in element:
            if child.tag != "li":
                self._read(child)
                continue
            number = _number(child.get("value"), number)
            marker = f"{numeral(number, form)}." if element.tag == "ol" else ""
            self._read_item(child, marker)
            number += 1

    def _read_item(self, element: Any, marker: str) -> None:
        """Read an item's paragraphs as one block, and then the lists, tables and code in it."""
        parts = element.iterdescendants(*_IN_ITEMS)
        inner = [part for part in parts if next(part.iterancestors(*_IN_ITEMS, "li")) is element]
        for part in inner:
            part.drop_tree()
        text = _text_of(element)
        if text:
            self.blocks.append(Block("item", text, marker=marker))
        for part in inner:
            self._read(part)
            self.flush()

    def _read_definitions(self, element: Any) -> None:
        """Read short definitions as items ("term: definition"), and others below their terms."""
        term = ""
        for child in element.iter("dt", "dd"):
            text = _text_of(child)
            if child.tag == "dt":
                term = ", ".join(filter(None, (term, _line_of(child))))
            elif term and not term.endswith("?") and "\n" not in text and len(text) <= _MAX_DEFINITION_CHARS:
                self.blocks.append(Block("item", f"{term.rstrip(':')}: {text}"))
                term = ""
            else:
                self._gathered.append(term)
                self.flush()
                self.walk(child)
                self.flush()
                term = ""
        self._gathered.append(term)
        self.flush()

    def _read_table(self, element: Any) -> None:
        for caption in element.iterchildren("caption"):
            self._add("caption", caption)
        rows = [row for row in element.iter("tr") if next(row.iterancestors("table")) is element]
        grid = []
        headers = 0
        spanned: dict[tuple[int, int], str] = {}
        for number, row in enumerate(rows):
            grid.append(_cells(row, number, spanned))
            is_header = row.getparent().tag == "thead" or row.find("td") is None
            headers += is_header and headers == number
        self.blocks += table(grid, headers)


def _cells(
    row: Any,
    number: int,
    spanned: dict[tuple[int, int], str],
) -> list[str]:
    """Return the texts of a row's cells, with those of earlier rows that span it.

    :param spanned: (row, column) -> the text of a cell of a row above, to which those of this row are added.
    """
    cells: list[str] = []
    for cell in (*row.iterchildren("td", "th"), None):
        while (number, len(cells)) in spanned:
            cells.append(spanned[number, len(cells)])
        if cell is None or len(cells) >= MAX_COLUMNS:
            break
        text = _line_of(cell)
        rows = min(_MAX_SPANNED_ROWS, _number(cell.get("rowspan"), 1))
        for below in range(1, rows):
            spanned[number + below, len(cells)] = text
        columns = min(MAX_COLUMNS, _number(cell.get("colspan"), 1))
        cells += [text, *[""] * (columns - 1)]
    return cells


def _is_table_of_data(element: Any) -> bool:
    """Return whether a table has two columns or more, and no tables, headings or lists as a page's layout has."""
    if element.get("role") in ("presentation", "none"):
        return False
    if next(element.iterdescendants("table", *_HEADINGS), None) is not None:
        return False
    rows = element.iter("tr")
    return any(len(row.xpath("td | th")) > 1 for row in rows)


def _text_of(element: Any) -> str:
    return _collapsed("".join(element.itertext()))


def _line_of(element: Any) -> str:
    """Return the text of an element in one line."""
    return _text_of(element).replace("\n", " ")


def _collapsed(text: str) -> str:
    """Return a text with single blanks, and its breaks as line ends."""
    lines = (" ".join(line.split()) for line in re.split(f"{_BREAK}+", text))
    return "\n".join(filter(None, lines))


def _number(value: str | None, default: int) -> int:
    return int(value) if value and re.fullmatch(r"\d{1,6}", value.strip()) else default


def _title(title: str, blocks: Sequence[Block]) -> str:
    """Return the title without the name of the site: "Fees" of "Fees | Museum | Museum"."""
    parts = re.split(r"\s+[|·•»]\s+", " ".join(title.split()))
    headings = [block.text for block in blocks if block.kind == "heading" and block.level == 1]
    return headings[0] if headings and headings[0] in parts else parts[0]


def _meta(root: Any, given: dict[str, str]) -> dict[str, MetaValue]:
    date = _DATE.match(next((given[name] for name in _DATES if name in given), ""))
    meta = {
        "date": date[0] if date else "",
        "author": next((given[name] for name in _AUTHORS if name in given), ""),
        "language": (root.get("lang") or "").strip(),
    }
    return {name: value for name, value in meta.items() if value}


def _given_meta(root: Any) -> dict[str, str]:
    given = {}
    for element in root.iter("meta"):
        content = " ".join((element.get("content") or "").split())
        for attribute in ("name", "property", "http-equiv"):
            if content and element.get(attribute):
                given[element.get(attribute).lower()] = content
    return given
