"""Read HTML: headings, paragraphs, lists, tables and code, without the navigation of a web page."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

from convqa.documents.archive import number
from convqa.documents.blocks import Block, BlockKind, Document, Unreadable, amounts
from convqa.documents.numbering import numeral
from convqa.documents.tables import MAX_SPANNED_ROWS, TableCell, spread, table
from convqa.documents.text import RAISED, decoded
from convqa.domain import MetaField
from convqa.text.units import LEAD_GAP

logger = logging.getLogger(__name__)

_DROPPED = re.compile(
    "annotation|annotation-xml|area|audio|base|canvas|datalist|dialog|embed|head|iframe|link|map|meta|noscript|object|"
    "option|rp|rt|script|select|style|svg|template|textarea|track|video"
)
_UNREAD = {"img": "images", "form": "forms"}
"""Elements that are not read, but for the text in them, and what a document's reader calls them."""
_INLINE = re.compile(
    "a|abbr|acronym|annotation|annotation-xml|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|"
    "math|m(?:frac|i|n|o|over|padded|root|row|space|sqrt|style|sub|subsup|sup|text|under|underover)|q|rp|rt|ruby|s|samp|"
    "semantics|small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_APART = {"a", "label", "small", "span", "time"}
_WORDS_APART = re.compile(r"[a-z\u00df-\u00ff).]\n[A-Z\u00c0-\u00de\d€$£¥]|\d\n[A-Z€$£¥]")
"""The end and the beginning of two elements that only a style sets apart, such as a dish and its price."""
_FORMULA_MARKS = {"mfrac": "/", "msub": "_", "msup": "^"}
"""Element of a formula -> the sign between its two parts, as in 1/2 and x^2."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_IN_ITEMS = (*_LISTS, "dl", "table", "pre")
"""Elements inside a list item that become blocks of their own, after the item's text."""
_ROW_GROUPS = ("thead", "tbody", "tfoot")
_IN_TABLES = {*_ROW_GROUPS, "tr", "td", "th", "caption"}
_MAX_CELL = 800
"""Characters of a cell with headings or tables in it. A longer one is part of a page's layout."""
_MAX_DEFINITION_CHARS = 200

_JUNK_NAMES = re.compile(
    r"(?i)(?:^|[\s_-])(?:breadcrumbs?|cookies?-?(?:banner|bar|consent|message|notice|popup)|gdpr|"
    r"(?:main|site|top|mega)-?nav(?:bar|igation)?|navbar|navbox|pagination|skip-?(?:to-?)?(?:link|nav|content)|"
    r"social-?(?:links|media|share)|vector-toc|mw-editsection|headerlink|noprint|sr-only|visually-?hidden)(?:$|[\s_-])"
)
"""Classes and ids of what surrounds the text of a page."""
_MENU_NAMES = re.compile(
    r"(?i)(?:^|[\s_-])(?:consent|contents|cookies?|dialog|menu(?:bar)?|modal|nav(?:igation)?|newsletter|pager|popup|"
    r"search|share|sharing|social|toc)(?:$|[\s_-])"
)
"""Those of menus and forms, and of text about such things."""
_JUNK_ROLES = {"alertdialog", "dialog", "menu", "menubar", "navigation", "search", "tablist"}
_SHOWN_ON_CLICK = re.compile(r"(?i)accordion|answer|collaps|expand|faq|panel|\btab|toggle")
"""Classes, ids and roles of what is hidden until its heading or button is clicked."""
_MAX_FORM_CHARS = 300
"""Text of a form, such as that of a search. Longer text is about something else."""
_COPYRIGHT = re.compile(r"(?i)(?:©|\(c\)|copyright).{0,80}")
_MIN_LINKS = 3
_MAX_LINK_SHARE = 0.8
"""A list or section with this many links, which hold more than this share of its text, is navigation."""
_MAX_MENU_CHARS = 40
"""Average length of the texts of links in navigation. Longer ones are sentences."""
_TEXT = {"main", "article", "td", "th"}
"""Elements in which lists of links are part of the text."""
_TOO_DEEP = "Excessive depth"
_FRAME = re.compile(r"(?i)</?(?:b|blockquote|center|div|em|font|i|li|ol|section|small|span|strong|u|ul)\b[^>]*>")
"""Elements that can lie in one another, too deep for the parser."""

_DATES = ("article:modified_time", "article:published_time", "date", "dc.date", "dcterms.modified", "last-modified")
_AUTHORS = ("author", "dc.creator", "article:author")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_BREAK = "\u2028"
"""Stands for ``<br>`` and the edges of blocks until white space is collapsed."""
_AFTER_LEAD = "\ufdd1"
"""Stands for :data:`LEAD_GAP` until then."""
_AFTER_BOLD = {"?": _BREAK, ".": _AFTER_LEAD, "!": _AFTER_LEAD}
"""The end of bold text at the beginning of a paragraph -> what comes after it."""
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
    parser = html.HTMLParser(remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(text, parser=parser)
        if _TOO_DEEP in str(parser.error_log):
            root = html.document_fromstring(_FRAME.sub("<br>", text), parser=parser)
    except etree.ParserError as error:
        raise Unreadable("it has no text") from error
    if _TOO_DEEP in str(parser.error_log):
        logger.warning("what lies in more than 250 elements is not read")
    given = _given_meta(root)
    title = root.findtext(".//title") or ""
    body = root.find("body")
    body = root if body is None else body
    removed = _prepare(body, is_page)
    unread = Counter(_UNREAD[element.tag] for element in body.iter(*_UNREAD))
    unread |= removed
    del unread["no text"]
    reader = _HTMLReader()
    reader.walk(body)
    reader.flush()
    if is_page and removed and not reader.blocks:
        # The page is a list of links.
        return read_markup(text)
    return Document(
        tuple(reader.blocks),
        _title(title, reader.blocks),
        _meta(root, given),
        amounts(unread),
    )


def _prepare(body: Any, is_page: bool) -> Counter[str]:
    """Remove what is not shown, and mark line breaks and the edges of blocks. Return how many words are removed."""
    words: Counter[str] = Counter()
    length = len(_text_of(body))
    removed = set()
    for element in list(body.iterdescendants()):
        tag = element.tag
        if element.getparent() in removed:
            removed.add(element)
        elif tag in _FORMULA_MARKS and len(element) > 1:
            element[0].tail = _FORMULA_MARKS[tag]
        elif kind := _kind_of_removed(element, is_page, length):
            if not (isinstance(tag, str) and _INLINE.fullmatch(tag)):
                element.tail = _BREAK + (element.tail or "")
            words[kind] += len(" ".join(element.itertext()).split())
            removed.add(element)
        elif mark := _mark_after(element):
            element.tail = mark + (element.tail or "")
        elif len(element) == 1 and {tag, element[0].tag} == {"a", "sup"} and _text_of(element).isalnum():
            element.text = "["
            element[0].tail = "]"
            element[0].tag = "a"
        elif tag == "sup" and element.text:
            element.text = RAISED + element.text
        elif tag in _APART and element.get("class") and not element.tail:
            following = element.getnext()
            if following is not None and following.tag in _APART and following.get("class"):
                edge = f"{_text_of(element)[-1:]}\n{_text_of(following)[:1]}"
                element.tail = " " if _WORDS_APART.fullmatch(edge) else None
        elif tag != "pre" and not _INLINE.fullmatch(tag):
            element.text = _BREAK + (element.text or "")
            element.tail = _BREAK + (element.tail or "")
    for element in removed:
        element.drop_tree()
    return words


def _mark_after(element: Any) -> str:
    """Return the mark that belongs after a line break or a bold heading in a paragraph's first line; "" for none."""
    parent = element.getparent()
    begins = element.getprevious() is None and not (parent.text or "").strip(f"{_BREAK} \n\t")
    if element.tag in ("b", "strong") and begins:
        return _AFTER_BOLD.get(_text_of(element)[-1:], "")
    return _BREAK if element.tag == "br" else ""


def _kind_of_removed(
    element: Any,
    is_page: bool,
    page_length: int,
) -> str:
    """Return what an element is that is not read; "" for one that is."""
    if not isinstance(element.tag, str) or _DROPPED.fullmatch(element.tag):
        return "no text"
    if _is_hidden(element):
        return "words of hidden text"
    return "words of navigation" if is_page and _is_junk(element, page_length) else ""


def _is_hidden(element: Any) -> bool:
    """Return whether an element stays hidden even after a click, or is a button other than a question or a heading."""
    if element.tag == "button":
        opens = element.get("aria-expanded") or element.get("aria-controls")
        is_heading = next(element.iterancestors("dt", "summary", *_HEADINGS), None) is not None
        return not (opens or is_heading or _SHOWN_ON_CLICK.search(_names(element)))
    style = element.get("style") or ""
    is_hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    if is_hidden or re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", style):
        return not _SHOWN_ON_CLICK.search(f"{_names(element)} {_names(element.getparent())}")
    return False


def _names(element: Any) -> str:
    return " ".join(element.get(attribute) or "" for attribute in ("class", "id", "role"))


def _is_junk(element: Any, page_length: int) -> bool:
    """Return whether an element is navigation: by its name, or because it consists of links with short texts.

    What has half the text of the page is not.
    """
    tag = element.tag
    names = element.get("class") or ""
    # Sections and headings have the words of the heading as their id.
    is_section = tag == "section" or tag in _HEADINGS or (len(element) and element[0].tag in _HEADINGS)
    if not is_section:
        names += f" {element.get('id') or ''}"
    is_junk = tag == "nav" or element.get("role") in _JUNK_ROLES or _JUNK_NAMES.search(names)
    is_menu = not _INLINE.fullmatch(tag) and _MENU_NAMES.search(names)
    is_list = tag in (*_LISTS, "div", "section", "aside", "header", "footer", "p")
    if tag in ("main", "article") or not (is_junk or is_menu or is_list):
        return False
    text = _text_of(element)
    length = len(text)
    # A copyright would end the answer above it.
    is_junk = is_junk or (tag == "footer" and _COPYRIGHT.fullmatch(text))
    if is_junk or length > page_length / 2:
        return length <= page_length / 2
    links = [_text_of(link) for link in element.iter("a") if link.get("href")]
    linked = sum(map(len, links))
    if is_menu:
        has_fields = next(element.iter("input", "button", "textarea"), None) is not None
        return linked >= length / 2 or (has_fields and length <= _MAX_FORM_CHARS)
    if len(links) < _MIN_LINKS or linked <= _MAX_LINK_SHARE * length or linked > _MAX_MENU_CHARS * len(links):
        return False
    around = element.iterancestors()
    return not any(each.tag in _TEXT or each.get("role") == "main" for each in around)


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
        elif tag == "table":
            after = _after_table(element)
            if _is_table_of_data(element):
                self._read_table(element)
            else:
                self.walk(element)
            for part in after:
                self.flush()
                self._read(part)
                self._gathered.append(part.tail or "")
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
        count = number(element.get("start"), 1)
        form = _NUMERALS.get(element.get("type"), "")
        self._gathered.append(element.text or "")
        for child in element:
            self.flush()
            if child.tag == "li":
                count = number(child.get("value"), count)
                marker = f"{numeral(count, form)}." if element.tag == "ol" else ""
                self._read_item(child, marker)
                count += 1
            else:
                self._read(child)
            self._gathered.append(child.tail or "")

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
        # HTML allows groups of terms and definitions.
        groups = (child if child.find("dt") is not None else [child] for child in element)
        self._gathered.append(element.text or "")
        for child in chain.from_iterable(groups):
            self.flush()
            text = _text_of(child)
            is_short = term and not term.endswith("?") and "\n" not in text and len(text) <= _MAX_DEFINITION_CHARS
            if child.tag == "dt":
                term = ", ".join(filter(None, (term, _line_of(child))))
            elif child.tag == "dd" and is_short:
                self.blocks.append(Block("item", f"{term.rstrip(':')}: {text}"))
                term = ""
            else:
                self._gathered.append(term)
                self.flush()
                self._read(child)
                term = ""
            self._gathered.append(child.tail or "")
        self._gathered.append(term)
        self.flush()

    def _read_table(self, element: Any) -> None:
        inner = element.iterdescendants(*_ROW_GROUPS, "tr")
        parts = [element, *(part for part in inner if next(part.iterancestors("table")) is element)]
        for part in parts:
            self._read_between_cells(part)
        for caption in element.iterchildren("caption"):
            self._add("caption", caption)
        rows = [part for part in parts if part.xpath("td | th")]
        rows.sort(key=lambda row: row.getparent().tag == "tfoot")
        headers = 0
        for index, row in enumerate(rows):
            is_header = row.getparent().tag == "thead" or row.find("td") is None or (index == 0 and _is_bold(row))
            headers += is_header and headers == index and (index == 0 or len(row) > 1)
        grid = list(spread(map(_cells, rows)))
        self.blocks += table(grid, headers)

    def _read_between_cells(self, part: Any) -> None:
        """Read the text of a table that is in no cell. Browsers show it above the table."""
        self._gathered.append(part.text or "")
        for child in part:
            if child.tag == "table" or (child.tag not in _IN_TABLES and child.find(".//td") is None):
                self._read(child)
            self._gathered.append(child.tail or "")
        self.flush()


def _after_table(element: Any) -> list[Any]:
    """Remove and return what follows in the last cell of a table that is not closed: from a heading on."""
    for cell in element.xpath("(.//td | .//th)[last()]"):
        heading = next(cell.iterchildren(*_HEADINGS), None)
        if heading is not None and _text_of(cell).partition(_text_of(heading))[0]:
            after = [heading, *heading.itersiblings()]
            for part in after:
                cell.remove(part)
            return after
    return []


def _is_bold(row: Any) -> bool:
    """Return whether all text of a row's cells is bold."""
    bold = row.xpath(".//b | .//strong")
    return bool(bold) and _text_of(row) == "\n".join(map(_text_of, bold))


def _cells(row: Any) -> list[TableCell]:
    cells = []
    for cell in row.iterchildren("td", "th"):
        rows = number(cell.get("rowspan"), 1)
        if rows != 1:
            # A cell ends with its part of the table, whatever it says.
            below = list(islice(row.itersiblings("tr"), MAX_SPANNED_ROWS))
            rows = min(rows or MAX_SPANNED_ROWS, len(below) + 1)
        columns = number(cell.get("colspan"), 1)
        cells.append(TableCell(_cell_text(cell), rows, columns))
    return cells


def _cell_text(cell: Any) -> str:
    """Return the text of a cell in one line, with semicolons between the items and rows in it."""
    parts = list(cell.iterdescendants("li", "tr"))
    for part in parts[:-1]:
        part.tail = ";" + (part.tail or "")
    text = _line_of(cell)
    return re.sub(r"(\s*;)+", ";", text) if parts else text


def _is_table_of_data(element: Any) -> bool:
    """Return whether a table has rows of several cells. Tables and headings in cells are of a page's layout.

    In a table with header cells, they are of its data, if they are short.
    """
    if element.get("role") in ("presentation", "none"):
        return False
    if next(element.iterdescendants("table", *_HEADINGS), None) is not None:
        texts = map(_text_of, element.iter("td"))
        if element.find(".//th") is None or max(map(len, texts), default=0) > _MAX_CELL:
            return False
    parts = element.iter("table", "tbody", "tr")
    return any(len(part.xpath("td | th")) > 1 for part in parts)


def _text_of(element: Any) -> str:
    return _collapsed("".join(element.itertext()))


def _line_of(element: Any) -> str:
    """Return the text of an element in one line."""
    return _text_of(element).replace("\n", " ")


def _collapsed(text: str) -> str:
    """Return a text with single blanks, and its marks as line ends and gaps."""
    lines = (" ".join(line.split()) for line in re.split(f"{_BREAK}+", text))
    return re.sub(f" ?{_AFTER_LEAD} ?", LEAD_GAP, "\n".join(filter(None, lines)))


def _title(title: str, blocks: Sequence[Block]) -> str:
    """Return the title without the name of the site: "Fees" of "Fees | Museum | Museum"."""
    parts = re.split(r"\s+[|·•»]\s+", " ".join(title.split()))
    headings = [block.text for block in blocks if block.kind == "heading" and block.level == 1]
    return headings[0] if headings and headings[0] in parts else parts[0]


def _meta(root: Any, given: dict[str, str]) -> dict[str, MetaField]:
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
