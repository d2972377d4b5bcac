"""Read HTML: headings, paragraphs, lists, tables and code, without the navigation of a web page."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from convqa.documents.blocks import Block, Document, Unreadable
from convqa.documents.text import decoded
from convqa.domain import MetaValue

logger = logging.getLogger(__name__)

_DROPPED = re.compile(
    "area|audio|base|button|canvas|datalist|dialog|embed|head|iframe|link|map|math|meta|nav|noscript|object|option|"
    "script|select|style|svg|template|textarea|track|video"
)
_INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|q|rp|rt|ruby|s|samp|"
    "small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_MAX_COLUMNS = 60
"""Cells of a row that are read. Layouts with more are no tables."""
_MAX_SPANNED_ROWS = 100
_MAX_DEFINITION_CHARS = 200

_JUNK_ROLES = frozenset({"navigation", "search", "menu", "menubar", "dialog", "alertdialog", "tablist"})
_JUNK_NAMES = re.compile(
    r"(?i)(?:^|[\s_-])(?:breadcrumbs?|cookies?(?:-?(?:banner|notice|consent))?|consent|gdpr|(?:main|site|top|mega)?-?nav"
    r"(?:bar|igation)?|menu|pagination|pager|share|sharing|social(?:-?(?:links|media|share))?|skip-?(?:to-?)?(?:link|nav|"
    r"content)|newsletter|popup|modal|toc|vector-toc|mw-editsection|navbox|headerlink|noprint|sr-only|"
    r"visually-?hidden)(?:$|[\s_-])"
)
_MIN_LINKS = 3
_MAX_LINK_SHARE = 0.8
"""A list or section with this many links, which hold more than this share of its text, is navigation."""
_MAX_MENU_CHARS = 40
"""Average length of the texts of links in navigation. Longer ones are sentences."""

_META = {
    "date": ("article:modified_time", "article:published_time", "date", "dc.date", "dcterms.modified", "last-modified"),
    "author": ("author", "dc.creator", "article:author"),
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_BREAK = "\x0b"
"""Stands for ``<br>`` until white space is collapsed."""
_ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv")


def read_html(data: bytes) -> Document:
    """Read the blocks of a web page.

    :raises Unreadable: if it has no text.
    """
    return read_markup(decoded(data, markup=True), is_page=True)


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
    reader = _HTMLReader(is_page)
    body = root.find("body")
    reader.walk(root if body is None else body)
    reader.flush()
    return Document(tuple(reader.blocks), _title(root, reader.blocks), _meta(root), reader.counts, reader.unread())


class _HTMLReader:
    """Collects the blocks of elements in order. Text in no block of its own is gathered until the next one."""

    def __init__(self, is_page: bool) -> None:
        self.blocks: list[Block] = []
        self.counts: Counter[str] = Counter()
        self._is_page = is_page
        self._gathered: list[str] = []
        self._depth = 0

    def unread(self) -> tuple[str, ...]:
        count = self.counts["images"]
        return (f"{count} images" if count > 1 else "1 image",) if count else ()

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
            if isinstance(child.tag, str):
                self._read(child)
            self._gathered.append(child.tail or "")

    def _read(self, element: Any) -> None:
        tag = element.tag
        if tag == "br":
            self._gathered.append(_BREAK)
        elif tag == "img":
            self.counts["images"] += 1
        elif self._is_left_out(element):
            if not _INLINE.fullmatch(tag):
                self.flush()
        elif _INLINE.fullmatch(tag):
            self.walk(element)
        else:
            self.flush()
            self._read_block(element)
            self.flush()

    def _read_block(self, element: Any) -> None:
        tag = element.tag
        if tag in _HEADINGS or element.get("role") == "heading":
            text = _collapsed(self._text_of(element)).replace("\n", " ").rstrip("\u00b6# ")
            level = _HEADINGS.get(tag) or _number(element.get("aria-level"), 2)
            if text:
                self.blocks.append(Block("heading", text, min(6, max(1, level))))
        elif tag in _LISTS:
            self._read_list(element)
        elif tag == "dl":
            self._read_definitions(element)
        elif tag == "table" and _is_table_of_data(element):
            self._read_table(element)
        elif tag == "pre":
            self.counts["code"] += 1
            self.blocks.append(Block("code", "".join(element.itertext()).replace("\r\n", "\n").strip("\n")))
        elif tag in ("caption", "figcaption"):
            self._add("caption", element)
        else:
            self.walk(element)

    def _add(self, kind: Any, element: Any) -> None:
        if text := _collapsed(self._text_of(element)).replace("\n", " "):
            self.blocks.append(Block(kind, text))

    def _read_list(self, element: Any) -> None:
        self._depth += 1
        number = _number(element.get("start"), 1)
        for child in element:
            if child.tag != "li":
                if isinstance(child.tag, str):
                    self._read(child)
                continue
            number = _number(child.get("value"), number)
            marker = _marker(number, element.get("type")) if element.tag == "ol" else ""
            self._read_item(child, marker)
            number += 1
        self._depth -= 1

    def _read_item(self, element: Any, marker: str) -> None:
        """Read an item's paragraphs as one block, and then the lists, tables and code in it."""
        inner = [part for part in element.iterdescendants(*_LISTS, "dl", "table", "pre") if _owner(part, element)]
        text = _collapsed(self._text_of(element, frozenset(inner)))
        if text:
            self.blocks.append(Block("item", text, self._depth, marker))
        for part in inner:
            self._read(part)
            self.flush()

    def _read_definitions(self, element: Any) -> None:
        """Read short definitions as items ("term: definition"), and others below their terms."""
        terms: list[str] = []
        for child in element.iter("dt", "dd"):
            if child.tag == "dt":
                terms.append(_collapsed(self._text_of(child)).replace("\n", " "))
                continue
            text = _collapsed(self._text_of(child))
            term = ", ".join(terms)
            if term and not term.endswith("?") and "\n" not in text and len(text) <= _MAX_DEFINITION_CHARS:
                self.blocks.append(Block("item", f"{term.rstrip(':')}: {text}", self._depth + 1))
            else:
                self.blocks += [Block("paragraph", term)] if term else []
                self.walk(child)
                self.flush()
            terms = []
        self.blocks += [Block("paragraph", term) for term in terms if term]

    def _read_table(self, element: Any) -> None:
        self.counts["tables"] += 1
        for caption in element.iterchildren("caption"):
            self._add("caption", caption)
        rows = [row for row in element.iter("tr") if next(row.iterancestors("table")) is element]
        spanned: dict[int, tuple[int, str]] = {}
        is_first = True
        for row in rows:
            cells = self._cells(row, spanned)
            if not any(cells):
                continue
            own = [cell.tag for cell in row if cell.tag in ("td", "th")]
            is_header = next(row.iterancestors("thead", "table")).tag == "thead" or set(own) == {"th"}
            if is_header and len(own) == 1 and len(rows) > 1 and not is_first:
                self.blocks.append(Block("caption", " ".join(filter(None, cells))))
                continue
            self.blocks.append(Block("header" if is_header else "row", cells=cells))
            is_first = False

    def _cells(self, row: Any, spanned: dict[int, tuple[int, str]]) -> tuple[str, ...]:
        """Return the texts of a row's cells, with those of earlier rows that span it.

        :param spanned: column -> (rows that are left, text), which is updated.
        """
        cells: list[str] = []

        def add_spanned() -> None:
            while len(cells) in spanned:
                left, text = spanned.pop(len(cells))
                if left > 1:
                    spanned[len(cells)] = left - 1, text
                cells.append(text)

        for cell in row.iterchildren("td", "th"):
            add_spanned()
            if len(cells) >= _MAX_COLUMNS:
                break
            text = _collapsed(self._text_of(cell)).replace("\n", " ")
            rows = min(_MAX_SPANNED_ROWS, _number(cell.get("rowspan"), 1))
            if rows > 1:
                spanned[len(cells)] = rows - 1, text
            columns = min(_MAX_COLUMNS - len(cells), max(1, _number(cell.get("colspan"), 1)))
            cells += [text, *[""] * (columns - 1)]
        add_spanned()
        return tuple(cells)

    def _text_of(self, element: Any, without: frozenset[Any] = frozenset()) -> str:
        """Return the text in an element, with a break between blocks."""
        pieces: list[str] = []

        def gather(parent: Any) -> None:
            pieces.append(parent.text or "")
            for child in parent:
                if child.tag == "br":
                    pieces.append(_BREAK)
                elif child.tag == "img":
                    self.counts["images"] += 1
                elif isinstance(child.tag, str) and child not in without and not self._is_left_out(child):
                    edge = "" if _INLINE.fullmatch(child.tag) else _BREAK
                    pieces.append(edge)
                    gather(child)
                    pieces.append(edge)
                pieces.append(child.tail or "")

        gather(element)
        return "".join(pieces)

    def _is_left_out(self, element: Any) -> bool:
        if _DROPPED.fullmatch(element.tag) or element.get("hidden") is not None or element.get("aria-hidden") == "true":
            return True
        if re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", element.get("style") or ""):
            return True
        if not self._is_page:
            return False
        if element.get("role") in _JUNK_ROLES:
            return True
        names = f"{element.get('class') or ''} {element.get('id') or ''}"
        if element.tag not in ("body", "main", "article") and _JUNK_NAMES.search(names):
            return True
        return element.tag in (*_LISTS, "div", "section", "aside", "header", "footer", "p") and _is_navigation(element)


def _is_navigation(element: Any) -> bool:
    """Return whether an element consists of links with short texts, as menus do."""
    links = [_collapsed("".join(link.itertext())) for link in element.iter("a") if link.get("href")]
    if len(links) < _MIN_LINKS:
        return False
    linked = sum(map(len, links))
    text = len(_collapsed("".join(element.itertext())))
    return linked > _MAX_LINK_SHARE * text and linked <= _MAX_MENU_CHARS * len(links)


def _owner(part: Any, item: Any) -> bool:
    """Return whether a list, table or code is in an item itself, not in one within it."""
    return next(part.iterancestors(*_LISTS, "dl", "table", "pre", "li")) is item


def _is_table_of_data(element: Any) -> bool:
    """Return whether a table has two columns or more, and no tables, headings or lists as a page's layout has."""
    if element.get("role") in ("presentation", "none"):
        return False
    if next(element.iterdescendants("table", *_HEADINGS), None) is not None:
        return False
    return any(len(row.findall("td")) + len(row.findall("th")) > 1 for row in element.iter("tr"))


def _collapsed(text: str) -> str:
    """Return a text with single blanks, and its breaks as line ends."""
    lines = (" ".join(line.split()) for line in re.split(f"{_BREAK}+", text))
    return "\n".join(filter(None, lines))


def _number(value: str | None, default: int) -> int:
    return int(value) if value and re.fullmatch(r"-?\d{1,6}", value.strip()) else default


def _marker(number: int, style: str | None) -> str:
    if style in ("a", "A") and 1 <= number <= 26:
        return f"{chr(ord(style) + number - 1)}."
    if style in ("i", "I") and 1 <= number < len(_ROMAN):
        return f"{_ROMAN[number] if style == 'i' else _ROMAN[number].upper()}."
    return f"{number}."


def _title(root: Any, blocks: Sequence[Block]) -> str:
    """Return the title without the name of the site: "Fees" of "Fees | Museum | Museum"."""
    title = root.findtext(".//title") or ""
    parts = re.split(r"\s+[|·•»]\s+", " ".join(title.split()))
    headings = (block.text for block in blocks if block.kind == "heading" and block.level == 1)
    heading = next(headings, "")
    if heading in parts:
        return heading
    site = dict(_given_meta(root)).get("og:site_name", "")
    if not site:
        return parts[0]
    return re.sub(rf"\s+[\u2013\u2014-]\s+{re.escape(site)}$", "", parts[0])


def _meta(root: Any) -> dict[str, MetaValue]:
    given = dict(_given_meta(root))
    meta: dict[str, MetaValue] = {}
    for name, sources in _META.items():
        value = next((given[source] for source in sources if given.get(source)), "")
        if name == "date":
            match = _DATE.match(value)
            value = match[0] if match else ""
        if value:
            meta[name] = value
    language = (root.get("lang") or "").strip()
    return meta | ({"language": language} if language else {})


def _given_meta(root: Any) -> Iterator[tuple[str, str]]:
    for element in root.iter("meta"):
        names = (element.get(attribute) for attribute in ("name", "property", "http-equiv"))
        name = next(filter(None, names), "")
        content = element.get("content") or ""
        yield name.lower(), " ".join(content.split())
