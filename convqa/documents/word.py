"""Word documents (.docx), Transitional and Strict, read from their XML as Word shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from convqa.documents.archive import Archive, attribute, local_name, number, properties
from convqa.documents.blocks import Block, Document
from convqa.documents.numbering import Numbering
from convqa.documents.pieces import alternative, amounts, is_page_number, lines, no_text, one_line, with_margins
from convqa.documents.tables import MAX_COLUMNS, MAX_REPEATED_CHARACTERS, chart, has_header, table

_MAX_HEADING_CHARACTERS = 150
"""Length of a heading. A longer one is a clause: people number clauses with the styles of headings."""
_MAX_CLAUSE_WORDS = 12
"""Words of a heading that ends like a sentence."""
_MAX_BOLD_WORDS = 8
"""Words of a bold paragraph that is a heading in a document without the styles of headings."""
_BOLD = 7
"""Level of a bold paragraph, until it is known whether it is a heading."""
_MAX_HEADER_COLUMNS = 12
"""Columns over which a cell of a header row can be the header of each."""
_MAX_STYLES = 20
"""Styles that a style can be based on, one on another."""

_NOT_SHOWN = {"del", "moveFrom", "pPr", "rPr", "tblPr", "tcPr", "trPr", "sdtPr", "rt", "Fallback", "instrText"}
_CHARACTERS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-"}
_OPERATORS = {"den": "/", "sup": "^"}
"""What stands before the parts of a formula: 1/2, x^2."""
_SYMBOLS = dict(zip(range(0xF061, 0xF07B), "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True))
"""Greek letters of the font Symbol."""
_DINGBATS = {0xF0FC: "✓", 0xF0FE: "☒", 0xF0A8: "☐", 0xF06F: "☐", 0xF0E0: "→", 0xF0B0: "°", 0xF0B1: "±", 0xF0B7: "•"}
_BULLET = re.compile(r"\s*(?:[•·▪◦‣●■○]\s+|[*-]\t+|(?P<marker>\(?(?:\d{1,3}|[a-z])[.)])\t+)")
_HEADING = re.compile(r"heading ?([1-9])")


def read_docx(data: bytes) -> Document:
    """Read a Word document.

    Insertions that are tracked are read and deletions are not. Footnotes follow their paragraph; headers and footers
    come first, each once. Comments, hidden text and the table of contents are left out.

    :raises Unreadable: if it has no text, is encrypted, damaged or too large, or is of another type.
    """
    archive = Archive(data, "Word document (.docx)")
    reader = _WordReader(archive)
    blocks = reader.read()
    title, meta = properties(archive.xml("docProps/core.xml"))
    if not blocks:
        raise no_text(reader.unread())
    return Document(blocks, title or reader.title, meta, dict(reader.counts), tuple(reader.unread()))


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph style and those that it is based on say."""

    names: tuple[str, ...] = ()
    level: int = 0
    num_id: str = ""
    num_level: str = ""
    num_style: str = ""
    is_hidden: bool = False
    is_bold: bool = False


class _WordReader:
    """Reads the parts of a document in the order of its text."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.counts: Counter[str] = Counter()
        self.title = ""
        self.contents_lines = 0
        main = archive.main("word/document.xml")
        self.document = archive.xml(main)
        self.relations = archive.relations(main)
        styles = archive.xml(self._part("styles"))
        self.style_elements = {attribute(style, "styleId"): style for style in styles.findall("{*}style")}
        self.default_style = next(
            (
                style_id
                for style_id, style in self.style_elements.items()
                if attribute(style, "type") == "paragraph" and attribute(style, "default") in ("1", "true")
            ),
            "",
        )
        self.styles: dict[str, _Style] = {}
        self.numbering = Numbering(archive.xml(self._part("numbering")))
        self.notes = {
            f"{kind}Reference": {attribute(note, "id"): note for note in archive.xml(self._part(f"{kind}s"))}
            for kind in ("footnote", "endnote")
        }
        # What stands in a paragraph and is read after it: footnotes, text boxes.
        self.following: list[Block] = []
        # The text of a paragraph whose end is deleted: it goes on in the next one.
        self.unfinished = ""

    def read(self) -> tuple[Block, ...]:
        body = self._apart(self.document)
        has_headings = any(block.kind == "heading" for block in body)
        for index, block in enumerate(body):
            if block.level == _BOLD:
                is_last = block is body[-1]
                is_heading = not has_headings and not is_last and body[index + 1].level != _BOLD
                body[index] = Block("heading", block.text, 2) if is_heading else Block("paragraph", block.text)
        return with_margins(self._margins(), body)

    def unread(self) -> Iterator[str]:
        """Yield what is not read of the document."""
        pictures = {
            attribute(picture, "embed") or attribute(picture, "id") or attribute(picture, "link")
            for name in ("blip", "imagedata")
            for picture in self.document.iter(f"{{*}}{name}")
        }
        comments = sum(1 for _ in self.document.iter("{*}commentReference"))
        inserted = sum(1 for _ in self.document.iter("{*}altChunk"))
        yield from amounts(images=len(pictures), comments=comments, inserted_documents=inserted)
        yield from amounts(contents_lines=self.contents_lines)
        yield from self.archive.losses()

    def _part(self, kind: str) -> str:
        return next((target for found, target in self.relations.values() if found == kind), f"word/{kind}.xml")

    def _margins(self) -> Iterator[Block]:
        """Yield the paragraphs of headers and footers, except those with only a page number."""
        for kind in ("header", "footer"):
            for reference in self.document.iter(f"{{*}}{kind}Reference"):
                _, part = self.relations.get(attribute(reference, "id"), ("", ""))
                root = self.archive.xml(part)
                for paragraph in root.iter("{*}p"):
                    codes = [element.text or "" for element in paragraph.iter("{*}instrText")]
                    codes += [attribute(element, "instr") for element in paragraph.iter("{*}fldSimple")]
                    if is_page_number(self._paragraph_text(paragraph), any("PAGE" in code for code in codes)):
                        paragraph.clear()
                for block in self._blocks(root):
                    yield block if block.cells else Block("paragraph", block.text)

    def _blocks(self, container: Any) -> Iterator[Block]:
        for element in container:
            name = local_name(element)
            if name == "p":
                yield from self._paragraph(element)
                yield from self._take_following()
            elif name == "tbl":
                yield from self._table(element)
            elif _is_prompt(element):
                continue
            elif name == "AlternateContent":
                yield from self._blocks(_alternative(element))
            elif name not in _NOT_SHOWN:
                yield from self._blocks(element)

    def _take_following(self) -> list[Block]:
        blocks = self.following
        self.following = []
        return blocks

    def _paragraph(self, paragraph: Any) -> Iterator[Block]:
        style = self._style(attribute(paragraph.find("{*}pPr/{*}pStyle"), "val") or self.default_style)
        raw = self.unfinished + self._paragraph_text(paragraph, style)
        mark = paragraph.find("{*}pPr/{*}rPr")
        self.unfinished = ""
        if mark is not None and any(local_name(change) in ("del", "moveFrom") for change in mark):
            self.unfinished = raw
            return
        marker = self._marker(paragraph, style)
        typed = _BULLET.match(raw) if marker is None else None
        text = lines(raw[typed.end() :] if typed else raw)
        if not text:
            return
        if any(name.startswith("toc ") for name in style.names):
            self.contents_lines += 1
            return
        outline = attribute(paragraph.find("{*}pPr/{*}outlineLvl"), "val")
        level = (number(outline, 9) + 1) % 10 if outline else style.level
        depth = 1 + number(attribute(paragraph.find("{*}pPr/{*}numPr/{*}ilvl"), "val") or style.num_level)
        if "title" in style.names:
            self.title = self.title or text.replace("\n", " ")
            yield Block("heading", text)
        elif level and not _is_clause(text):
            yield Block("heading", f"{marker} {text}" if marker else text, min(level, 6))
        elif "caption" in style.names:
            yield Block("caption", f"{marker} {text}" if marker else text)
        elif marker is not None:
            yield Block("item", text, depth, marker)
        elif typed:
            yield Block("item", text, marker=typed["marker"] or "")
        else:
            is_bold = len(text.split()) <= _MAX_BOLD_WORDS and text[-1] not in ".,;!" and self._is_bold(paragraph)
            yield Block("paragraph", text, _BOLD if is_bold else 1)

    def _marker(self, paragraph: Any, style: _Style) -> str | None:
        """Return the number of a paragraph, "" for a bullet, None if it is in no list."""
        own = paragraph.find("{*}pPr/{*}numPr")
        num_id = level = ""
        if own is not None:
            num_id = attribute(own.find("{*}numId"), "val")
            level = attribute(own.find("{*}ilvl"), "val")
        if num_id:
            return self.numbering.next_marker(num_id, number(level or style.num_level))
        return self.numbering.next_marker(style.num_id, number(level or style.num_level), style.num_style)

    def _style(self, style_id: str) -> _Style:
        if style_id not in self.styles:
            chain: list[Any] = []
            base = style_id
            while base in self.style_elements and len(chain) < _MAX_STYLES:
                chain.append(self.style_elements[base])
                base = attribute(chain[-1].find("{*}basedOn"), "val")
            self.styles[style_id] = _style(style_id, chain)
        return self.styles[style_id]

    def _paragraph_text(self, paragraph: Any, style: _Style = _Style()) -> str:
        pieces: list[str] = []
        self._collect(paragraph, pieces, [], style)
        return "".join(pieces)

    def _collect(self, element: Any, pieces: list[str], fields: list[str], style: _Style) -> None:
        """Add the text of an element's children to the pieces.

        :param fields: the complex fields that are open, each "code" until its result begins.
        """
        for child in element:
            name = local_name(child)
            if name == "t":
                if "code" not in fields:
                    pieces.append(child.text or "")
            elif name == "r":
                if not self._is_on(child, "vanish", style.is_hidden):
                    self._collect(child, pieces, fields, style)
            elif name == "fldChar":
                kind = attribute(child, "fldCharType")
                if kind == "begin":
                    fields.append("code")
                elif fields:
                    fields.pop()
                    if kind == "separate":
                        fields.append("result")
            elif name == "br":
                # A break of a page or column can stand within a sentence.
                pieces.append(" " if attribute(child, "type") in ("page", "column") else "\n")
            elif name == "sym":
                pieces.append(_symbol(child))
            elif name in _CHARACTERS:
                pieces.append(_CHARACTERS[name])
            elif name in _OPERATORS:
                pieces.append(_OPERATORS[name])
                self._collect(child, pieces, fields, style)
            elif name == "chart":
                _, part = self.relations.get(attribute(child, "id"), ("", ""))
                self.following += chart(self.archive.xml(part))
            elif name == "relIds":
                _, part = self.relations.get(attribute(child, "dm"), ("", ""))
                self.following += self._apart(self.archive.xml(part))
            elif name in self.notes:
                self._note(self.notes[name].pop(attribute(child, "id"), None))
            elif name == "txbxContent":
                self.following += self._apart(child)
            elif name == "docPr":
                self.following += alternative(attribute(child, "descr"))
            elif name == "AlternateContent":
                self._collect(_alternative(child), pieces, fields, style)
            elif name not in _NOT_SHOWN and not _is_prompt(child):
                self._collect(child, pieces, fields, style)

    def _note(self, note: Any) -> None:
        if note is not None:
            text = one_line(self._apart(note))
            if text:
                self.counts["footnotes"] += 1
                self.following.append(Block("footnote", text))

    def _apart(self, container: Any) -> list[Block]:
        """Return the blocks of a container that stands within a paragraph."""
        following, unfinished = self.following, self.unfinished
        self.following, self.unfinished = [], ""
        blocks = list(self._blocks(container))
        if text := lines(self.unfinished):
            blocks.append(Block("paragraph", text))
        self.following, self.unfinished = following, unfinished
        return blocks

    def _is_on(self, run: Any, name: str, default: bool) -> bool:
        """Whether a run has a property such as bold, by itself or by its style."""
        found = run.find(f"{{*}}rPr/{{*}}{name}")
        if found is not None:
            return _is_true(found)
        style = self._style(attribute(run.find("{*}rPr/{*}rStyle"), "val"))
        return default or (style.is_hidden if name == "vanish" else style.is_bold)

    def _is_bold(self, element: Any) -> bool:
        """Whether all text of a paragraph or row is bold."""
        runs = [run for run in element.iter("{*}r") if "".join(run.itertext("{*}t")).strip()]
        return bool(runs) and all(self._is_on(run, "b", False) for run in runs)

    def _table(self, element: Any) -> Iterator[Block]:
        rows = [row for row in _descend(element, "tr") if row.find("{*}trPr/{*}del") is None]
        cells = [[cell for cell in _descend(row, "tc") if cell.find("{*}tcPr/{*}cellDel") is None] for row in rows]
        contents = [[self._apart(cell) for cell in row] for row in cells]
        if _is_layout(contents):
            for row in contents:
                for blocks in row:
                    yield from blocks
            return
        self.counts["tables"] += 1
        notes = [block for row in contents for blocks in row for block in blocks if block.kind == "footnote"]
        headers = 0
        for row in rows:
            mark = row.find("{*}trPr/{*}tblHeader")
            if mark is None or not _is_true(mark):
                break
            headers += 1
        if not headers and len(rows) > 1 and len(cells[0]) > 1:
            is_apart = self._sets_first_row_apart(element) or (self._is_bold(rows[0]) and not self._is_bold(rows[1]))
            headers = int(is_apart or has_header(_grid(rows, cells, contents, 1)))
        yield from table(_grid(rows, cells, contents, headers), headers)
        yield from notes

    def _sets_first_row_apart(self, element: Any) -> bool:
        """Whether the style of a table sets its first row apart."""
        look = element.find("{*}tblPr/{*}tblLook")
        is_marked = attribute(look, "firstRow") in ("1", "true") or bool(_hexadecimal(attribute(look, "val")) & 0x20)
        style = self.style_elements.get(attribute(element.find("{*}tblPr/{*}tblStyle"), "val"))
        parts = [] if style is None else style.findall("{*}tblStylePr")
        return is_marked and any(attribute(part, "type") == "firstRow" for part in parts)


def _style(style_id: str, chain: list[Any]) -> _Style:
    def value(path: str) -> str:
        return next((attribute(found, "val") for style in chain if (found := style.find(path)) is not None), "")

    names = [attribute(style.find("{*}name"), "val").lower() for style in chain] + [style_id.lower()]
    outline = value("{*}pPr/{*}outlineLvl")
    levels = [int(match[1]) for name in names if (match := _HEADING.fullmatch(name))]
    numbered = next((style for style in chain if style.find("{*}pPr/{*}numPr/{*}numId") is not None), None)
    toggles = {
        name: next((_is_true(on) for style in chain if (on := style.find(f"{{*}}rPr/{{*}}{name}")) is not None), False)
        for name in ("vanish", "b")
    }
    return _Style(
        tuple(names),
        level=(number(outline, 9) + 1) % 10 if outline else next(iter(levels), 0),
        num_id=value("{*}pPr/{*}numPr/{*}numId"),
        num_level=value("{*}pPr/{*}numPr/{*}ilvl"),
        num_style=attribute(numbered, "styleId"),
        is_hidden=toggles["vanish"],
        is_bold=toggles["b"],
    )


def _is_true(element: Any) -> bool:
    return attribute(element, "val", "1") not in ("0", "false", "off")


def _is_prompt(element: Any) -> bool:
    """Whether an element is a content control that nobody has filled in."""
    return local_name(element) == "sdt" and element.find("{*}sdtPr/{*}showingPlcHdr") is not None


def _hexadecimal(text: str) -> int:
    return int(text, 16) if re.fullmatch(r"[0-9A-Fa-f]{1,4}", text) else 0


def _symbol(element: Any) -> str:
    code = _hexadecimal(attribute(element, "char"))
    if code in _DINGBATS:
        return _DINGBATS[code]
    if 0xF000 <= code <= 0xF0FF:
        return _SYMBOLS.get(code, "") if attribute(element, "font") == "Symbol" else ""
    return "" if 0xD800 <= code <= 0xDFFF else chr(code)


def _alternative(element: Any) -> Any:
    """Return the first choice with text: the others show the same in another way."""
    with_text = (choice for choice in element if next(choice.iter("{*}t"), None) is not None)
    return next(with_text, element[0] if len(element) else element)


def _descend(element: Any, name: str) -> Iterator[Any]:
    """Yield the rows of a table or the cells of a row, those in content controls too."""
    for child in element:
        child_name = local_name(child)
        if child_name == name:
            yield child
        elif child_name not in ("tr", "tc", "p", *_NOT_SHOWN):
            yield from _descend(child, name)


def _is_clause(text: str) -> bool:
    is_sentence = text.endswith((".", ";", ":")) and len(text.split()) > _MAX_CLAUSE_WORDS
    return is_sentence or len(text) > _MAX_HEADING_CHARACTERS


def _is_layout(contents: list[list[list[Block]]]) -> bool:
    """Whether a table only places text on the page."""
    filled = [[blocks for blocks in row if blocks] for row in contents]
    filled = [row for row in filled if row]
    if max(map(len, filled), default=0) < 2:
        return True
    long = [blocks for row in filled for blocks in row if len(blocks) > 1]
    with_headings = any(block.kind == "heading" for blocks in long for block in blocks)
    return with_headings or (len(filled) == 1 and bool(long))


def _grid(rows: list[Any], cells: list[list[Any]], contents: list[list[list[Block]]], headers: int) -> list[list[str]]:
    """Return the texts of a table by row and column of its grid.

    The text of a cell that spans rows is in each of them; that of a cell that spans columns is in the first one, or in
    each if it is a header.
    """
    # Where all rows have as many cells, their widths say nothing.
    is_even = len(set(map(len, cells))) == 1
    grid: list[list[str]] = []
    for row_index, row in enumerate(rows):
        before = number(attribute(row.find("{*}trPr/{*}gridBefore"), "val"))
        texts = [""] * (0 if is_even else min(max(before, 0), MAX_COLUMNS))
        for cell, blocks in zip(cells[row_index], contents[row_index], strict=True):
            text = one_line(block for block in blocks if block.kind != "footnote")
            if len(texts) >= MAX_COLUMNS:
                texts[-1] = f"{texts[-1]} {text}".strip()
                continue
            merge = cell.find("{*}tcPr/{*}vMerge")
            if merge is not None and attribute(merge, "val", "continue") == "continue" and grid and not text:
                above = grid[-1][len(texts)] if len(texts) < len(grid[-1]) else ""
                text = above if len(above) <= MAX_REPEATED_CHARACTERS else ""
            span = 1 if is_even else number(attribute(cell.find("{*}tcPr/{*}gridSpan"), "val"), 1)
            others = min(max(span, 1), MAX_COLUMNS) - 1
            is_repeated = row_index < headers and others < _MAX_HEADER_COLUMNS
            texts += [text, *[text if is_repeated else ""] * others]
            texts = texts[:MAX_COLUMNS]
        grid.append(texts)
    return grid
