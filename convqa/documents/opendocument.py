"""OpenDocument texts (.odt), read from their XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from convqa.documents.archive import Archive, attribute, local_name, number, properties
from convqa.documents.blocks import Block, Document, Unreadable
from convqa.documents.numerals import numeral
from convqa.documents.pieces import alternative, amounts, is_page_number, lines, no_text, one_line, with_margins
from convqa.documents.tables import MAX_COLUMNS, MAX_REPEATED_CHARACTERS, table

_NOT_SHOWN = {"tracked-changes", "annotation", "forms", "hidden-text", "hidden-paragraph", "ruby-text", "note-citation"}
_CHARACTERS = {"s": " ", "tab": " ", "line-break": "\n"}
_CAPTIONS = {"Caption", "Table"}


def read_odt(data: bytes) -> Document:
    """Read an OpenDocument text.

    Deletions that are tracked, comments and indexes are left out. Footnotes follow their paragraph; headers and footers
    come first, each once.

    :raises Unreadable: if it has no text, is encrypted, damaged or too large, or is of another type.
    """
    archive = Archive(data, "OpenDocument text (.odt)")
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise Unreadable("it is encrypted; save it without its password")
    reader = _OpenDocumentReader(archive)
    body = list(reader.blocks(reader.content.find("{*}body/{*}text")))
    blocks = with_margins(reader.margins(), body)
    unread = (*amounts(images=reader.images, contents_lines=reader.contents_lines), *archive.losses())
    if not blocks:
        raise no_text(unread)
    title, meta = properties(archive.xml("meta.xml"))
    return Document(blocks, title or reader.title, meta, dict(reader.counts), unread)


class _OpenDocumentReader:
    def __init__(self, archive: Archive) -> None:
        self.content = archive.xml("content.xml")
        self.common = archive.xml("styles.xml")
        styles = list(chain(self.content.iter("{*}style"), self.common.iter("{*}style")))
        self.bases = {attribute(style, "name"): attribute(style, "parent-style-name") for style in styles}
        lists = chain(self.content.iter("{*}list-style"), self.common.iter("{*}list-style", "{*}outline-style"))
        # The levels of lists by the name of their style; "" has the numbers of headings.
        self.levels = {
            "" if local_name(element) == "outline-style" else attribute(element, "name"): {
                number(attribute(level, "level")): level for level in element
            }
            for element in lists
        }
        self.reached: dict[str, dict[int, int]] = {}
        self.counts: Counter[str] = Counter()
        self.images = self.contents_lines = 0
        self.title = ""
        # What stands in a paragraph and is read after it: footnotes, text boxes.
        self.following: list[Block] = []

    def margins(self) -> Iterator[Block]:
        """Yield the paragraphs of headers and footers, except those with only a page number."""
        for area in self.common.iterfind("{*}master-styles/{*}master-page/*"):
            if local_name(area).startswith(("header", "footer")):
                for paragraph in area.iter("{*}p"):
                    text = self._text(paragraph)
                    has_number = next(paragraph.iter("{*}page-number"), None) is not None
                    if text and not is_page_number(text, has_number):
                        yield Block("paragraph", text)

    def blocks(self, container: Any) -> Iterator[Block]:
        for element in () if container is None else container:
            name = local_name(element)
            if name in ("p", "h"):
                yield from self._paragraph(element, "", 0)
            elif name == "list":
                yield from self._list(element, "", 1)
            elif name == "table":
                yield from self._table(element)
            elif name.endswith(("-index", "table-of-content", "bibliography")):
                self.contents_lines += sum(1 for _ in element.iter("{*}p"))
            elif name not in _NOT_SHOWN:
                yield from self.blocks(element)

    def _paragraph(self, element: Any, marker: str | None, depth: int) -> Iterator[Block]:
        """Yield a paragraph and what follows it.

        :param depth: of the list whose item it begins; 0 for none.
        """
        text = self._text(element)
        style = attribute(element, "style-name")
        names = {style, self.bases.get(style, "")}
        if local_name(element) == "h" and text:
            level = number(attribute(element, "outline-level"), 1)
            if not depth and attribute(element, "is-list-header") != "true":
                marker = self._marker("", level)
            yield Block("heading", f"{marker} {text}" if marker else text, min(max(level, 1), 6))
        elif "Title" in names and text:
            self.title = self.title or text.replace("\n", " ")
            yield Block("heading", text)
        elif depth and text:
            yield Block("item", text, depth, marker or "")
        elif text:
            yield Block("caption" if names & _CAPTIONS else "paragraph", text)
        yield from self._take_following()

    def _take_following(self) -> list[Block]:
        blocks = self.following
        self.following = []
        return blocks

    def _list(self, element: Any, style: str, depth: int) -> Iterator[Block]:
        style = attribute(element, "style-name") or style
        goes_on = attribute(element, "continue-numbering") == "true" or attribute(element, "continue-list")
        if depth == 1 and not goes_on:
            self.reached[style] = {}
        for item in element:
            is_first = local_name(item) == "list-item"
            for child in item:
                if local_name(child) == "list":
                    yield from self._list(child, style, depth + 1)
                elif local_name(child) in ("p", "h"):
                    marker = self._marker(style, depth, attribute(item, "start-value")) if is_first else ""
                    yield from self._paragraph(child, marker, depth if is_first else 0)
                    is_first = False
                else:
                    yield from self.blocks([child])

    def _marker(self, style: str, depth: int, start: str = "") -> str:
        """Return the number of the next paragraph at a depth of a list, "" for a bullet."""
        levels = self.levels.get(style, {})
        reached = self.reached.setdefault(style, {})
        first = number(start or attribute(levels.get(depth), "start-value"), 1)
        reached[depth] = first if start or depth not in reached else reached[depth] + 1
        for deeper in [key for key in reached if key > depth]:
            del reached[deeper]
        level = levels.get(depth)
        if level is None or not attribute(level, "num-format"):
            return ""
        shown = min(max(number(attribute(level, "display-levels"), 1), 1), depth)
        parts = []
        for key in range(depth - shown + 1, depth + 1):
            form = attribute(levels.get(key), "num-format")
            if form:
                parts.append(numeral(reached.get(key, 1), form))
        return (attribute(level, "num-prefix") + ".".join(parts) + attribute(level, "num-suffix")).strip()

    def _text(self, element: Any) -> str:
        pieces: list[str] = []
        self._collect(element, pieces)
        return lines("".join(pieces))

    def _collect(self, element: Any, pieces: list[str]) -> None:
        # In its XML, line breaks are blanks.
        pieces.append((element.text or "").replace("\n", " "))
        for child in element:
            name = local_name(child)
            if name == "note":
                text = one_line(self._apart(child))
                if text:
                    self.counts["footnotes"] += 1
                    self.following.append(Block("footnote", text))
            elif name == "text-box":
                self.following += self._apart(child)
            elif name in ("title", "desc"):
                self.following += alternative(child.text or "")
            elif name == "image":
                self.images += 1
            elif name in _CHARACTERS:
                pieces.append(_CHARACTERS[name])
            elif name not in _NOT_SHOWN:
                self._collect(child, pieces)
            pieces.append((child.tail or "").replace("\n", " "))

    def _apart(self, container: Any) -> list[Block]:
        """Return the blocks of a container that stands within a paragraph."""
        following = self.following
        self.following = []
        blocks = list(self.blocks(container))
        self.following = following
        return blocks

    def _table(self, element: Any) -> Iterator[Block]:
        grid: list[list[str]] = []
        notes: list[Block] = []
        # The texts of the cells that go on in rows below, and how many, by column.
        spans: dict[int, tuple[int, str]] = {}
        for row in _rows(element):
            cells: list[str] = []
            for cell in row.iterfind("{*}*"):
                blocks = self._apart(cell)
                notes += [block for block in blocks if block.kind == "footnote"]
                text = one_line(block for block in blocks if block.kind != "footnote")
                rows_left, above = spans.get(len(cells), (0, ""))
                if local_name(cell) == "covered-table-cell" and rows_left:
                    text = above if len(above) <= MAX_REPEATED_CHARACTERS else ""
                    spans[len(cells)] = (rows_left - 1, above)
                elif (below := number(attribute(cell, "number-rows-spanned"), 1)) > 1:
                    spans[len(cells)] = (below - 1, text)
                cells += [text] * min(max(number(attribute(cell, "number-columns-repeated"), 1), 1), MAX_COLUMNS)
            grid.append(cells[:MAX_COLUMNS])
        self.counts["tables"] += 1
        yield from table(grid, sum(1 for _ in element.iterfind("{*}table-header-rows/{*}table-row")))
        yield from notes


def _rows(element: Any) -> Iterator[Any]:
    for child in element:
        if local_name(child) == "table-row":
            yield child
        elif local_name(child) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows(child)
