"""PowerPoint presentations (.pptx), read from their XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from convqa.documents.archive import Archive, attribute, local_name, number, properties
from convqa.documents.blocks import Block, Document
from convqa.documents.numerals import numeral
from convqa.documents.pieces import amounts, lines, no_text
from convqa.documents.tables import chart, table

_FORMS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_ENDS = {"Period": ".", "ParenR": ")", "ParenBoth": ")"}
_NUMBERS_OF_SLIDES = {"sldNum", "dt"}
"""Placeholders of the slide's number and the day."""


def read_pptx(data: bytes) -> Document:
    """Read the slides of a presentation in order, each with its title as heading and its notes.

    Pages are the numbers of slides. Hidden slides and comments are left out.

    :raises Unreadable: if it has no text, is encrypted, damaged or too large, or is of another type.
    """
    archive = Archive(data, "PowerPoint presentation (.pptx)")
    main = archive.main("ppt/presentation.xml")
    relations = archive.relations(main)
    blocks: list[Block] = []
    counts: Counter[str] = Counter()
    images: set[str] = set()
    hidden = 0
    footers: set[str] = set()
    for page, entry in enumerate(archive.xml(main).iterfind("{*}sldIdLst/{*}sldId"), start=1):
        # The attribute "id" has another namespace than the relation's.
        relation = next((value for key, value in entry.items() if key.endswith("}id")), "")
        _, part = relations.get(relation, ("", ""))
        slide = _Slide(archive, part, page, footers)
        if attribute(slide.root, "show") in ("0", "false"):
            hidden += 1
            continue
        blocks += slide.read()
        counts["slides"] += 1
        counts["tables"] += sum(1 for _ in slide.root.iter("{*}tbl"))
        counts["charts"] += sum(1 for _ in slide.root.iter("{*}chart"))
        images |= {slide.relations.get(attribute(blip, "embed"), ("", ""))[1] for blip in slide.root.iter("{*}blip")}
    unread = (*amounts(images=len(images), hidden_slides=hidden), *archive.losses())
    if not blocks:
        raise no_text(unread)
    title, meta = properties(archive.xml("docProps/core.xml"))
    return Document(tuple(blocks), title, meta, dict(+counts), unread)


class _Slide:
    def __init__(self, archive: Archive, part: str, page: int, footers: set[str]) -> None:
        self.archive = archive
        self.root = archive.xml(part)
        self.relations = archive.relations(part)
        self.page = page
        self.footers = footers
        self.title = ""

    def read(self) -> list[Block]:
        blocks = list(self._shapes(self.root))
        for kind, part in self.relations.values():
            if kind == "notesSlide":
                blocks += self._shapes(self.archive.xml(part), ("body",))
        if not blocks and not self.title:
            return []
        # Without a title, what follows would stand under that of the slide before.
        return [Block("heading", self.title or f"Slide {self.page}", page=self.page), *blocks]

    def _shapes(self, container: Any, kinds: tuple[str, ...] = ()) -> Iterator[Block]:
        """Yield the blocks of shapes and groups of shapes.

        :param kinds: the placeholders to be read; none for all.
        """
        for shape in container:
            name = local_name(shape)
            if name == "sp":
                placeholder = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
                kind = "" if placeholder is None else attribute(placeholder, "type", "obj")
                body = shape.find("{*}txBody")
                if body is not None and kind not in _NUMBERS_OF_SLIDES and (not kinds or kind in kinds):
                    yield from self._text(body, kind, is_list=kind in ("obj", "body") and not kinds)
            elif name == "tbl":
                yield from self._table(shape)
            elif name == "chart":
                _, part = self.relations.get(attribute(shape, "id"), ("", ""))
                yield from chart(self.archive.xml(part), self.page)
            elif name == "relIds":
                # A diagram (SmartArt) has its text in a part of its own.
                _, part = self.relations.get(attribute(shape, "dm"), ("", ""))
                for body in self.archive.xml(part).iter("{*}t"):
                    yield from self._text(body, "", is_list=False)
            elif name == "AlternateContent":
                yield from self._shapes(shape[0] if len(shape) else shape, kinds)
            else:
                yield from self._shapes(shape, kinds)

    def _text(self, body: Any, kind: str, is_list: bool) -> Iterator[Block]:
        paragraphs = [(paragraph, _text_of(paragraph)) for paragraph in body.iterfind("{*}p")]
        if kind in ("title", "ctrTitle"):
            self.title = " ".join(text.replace("\n", " ") for _, text in paragraphs if text)
            return
        filled = [(paragraph, text) for paragraph, text in paragraphs if text]
        numbers: dict[int, int] = {}
        for paragraph, text in filled:
            if kind == "ftr" and text in self.footers:
                continue
            self.footers |= {text} if kind == "ftr" else set()
            look = paragraph.find("{*}pPr")
            level = 1 + number(attribute(look, "lvl"))
            bullets = [local_name(child) for child in ([] if look is None else look)]
            numbers = {
                key: count for key, count in numbers.items() if key < level or (key == level and "buAutoNum" in bullets)
            }
            marker = ""
            if look is not None and "buAutoNum" in bullets:
                bullet = look.find("{*}buAutoNum")
                numbers[level] = numbers.get(level, number(attribute(bullet, "startAt"), 1) - 1) + 1
                marker = _marker(numbers[level], attribute(bullet, "type"))
            has_bullet = "buChar" in bullets or "buBlip" in bullets or bool(marker)
            if has_bullet or (is_list and len(filled) > 1 and "buNone" not in bullets):
                yield Block("item", text, level, marker, page=self.page)
            else:
                yield Block("paragraph", text, page=self.page)

    def _table(self, element: Any) -> Iterator[Block]:
        rows: list[list[str]] = []
        for row in element.iterfind("{*}tr"):
            cells: list[str] = []
            for cell in row.iterfind("{*}tc"):
                text = " ".join(filter(None, map(_text_of, cell.iter("{*}p")))).replace("\n", " ")
                if attribute(cell, "vMerge") in ("1", "true") and rows and len(cells) < len(rows[-1]):
                    text = rows[-1][len(cells)]
                cells.append(text)
            rows.append(cells)
        has_header = attribute(element.find("{*}tblPr"), "firstRow") in ("1", "true")
        yield from table(rows, int(has_header), self.page)


def _text_of(paragraph: Any) -> str:
    texts = ["\n" if local_name(element) == "br" else element.text or "" for element in paragraph.iter("{*}t", "{*}br")]
    return lines("".join(texts).replace("\v", "\n"))


def _marker(count: int, form: str) -> str:
    """Return a number in the form of PowerPoint, such as "alphaLcParenR" for "b)"."""
    name = next((name for name in _FORMS if form.startswith(name)), "")
    end = next((end for name, end in _ENDS.items() if form.endswith(name)), "")
    return ("(" if form.endswith("ParenBoth") else "") + numeral(count, _FORMS.get(name, "1")) + end
