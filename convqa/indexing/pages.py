"""Join the pages of a PDF: drop repeated lines, and join broken words and lines to paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convqa.indexing.cutting import is_heading

_EDGE_LINES = 2
"""Lines at the top and bottom of a page that may be running titles or page numbers."""

_ADJACENT_PAGES = 2
"""Pages before and after to search for a running title, because titles of left and right pages differ."""

_MAX_CONTENTS_CHARS = 300
"""Limit of a line in a table of contents."""

_PAGE_NUMBER = re.compile(r"(?i)\W*(page|seite|strona|p\.|s\.)?\s*(\d{1,4}|[ivxl]{1,6})(\s*(/|of|von|z)\s*\d{1,4})?\W*")
_CONTENTS = re.compile(r"(?i).*(\s?\.){4,}\s*([ivxl\d]+)?|(table of )?contents|inhalt(sverzeichnis)?|spis treści|目次")
_ITEM = re.compile(r"[•▪●◦‣*\u2013-]\s|\(?\d{1,2}[.)]\s|\d{1,2}(\.\d{1,2})+\.?\s+[^\W\d_]|\(?[a-z]\)\s")
_ENDS = re.compile(r"[.!?:…\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$")
_LETTER = re.compile(r"[^\W\d_]{2}")
_WIDE = re.compile(r"[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")
_HYPHENATED = re.compile(r"\b\w{1,40}-\w{1,40}")


def joined(pages: Sequence[str]) -> tuple[str, list[int]]:
    """Return the text of all pages, with blank lines between paragraphs, and the offset of each page."""
    lines = list(_lines(pages))
    # A hyphen at the end of a line is kept if the document has the hyphenated word elsewhere.
    compounds = {word for _, line in lines for word in _HYPHENATED.findall(line)}
    text = ""
    starts = [0]
    before = ""
    for number, (page, line) in enumerate(lines):
        if line:
            around = [near for _, near in lines[max(0, number - 4) : number + 3]]
            if before and not _ends_paragraph(around, before, line):
                is_broken = before[-2:-1].isalpha() and before.endswith("-") and line[0].islower()
                if is_broken and (before.split()[-1] + line.split()[0]).rstrip(".,;:)") not in compounds:
                    text = text[:-1]
                is_wide = _WIDE.match(line) and _WIDE.match(before[-1])
                gap = "" if is_broken or is_wide else " "
            elif before and _ITEM.match(before) and _ITEM.match(line):
                gap = "\n"
            else:
                gap = "\n\n" if text else ""
            text += gap
            starts += [len(text)] * (page + 1 - len(starts))
            text += line
        before = line
    return text, starts + [len(text)] * (len(pages) - len(starts))


def _lines(pages: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield (page from 0, line), without page numbers, tables of contents and running titles.

    Lines of the first page are never running titles because they may be the document's title.
    """
    split = [[line.strip() for line in page.strip().split("\n")] for page in pages]
    edges = []
    for page in split:
        full = [line for line in page if line]
        edges.append({*full[:_EDGE_LINES], *full[-_EDGE_LINES:]})
    shapes = [{_shape(line) for line in edge if _LETTER.search(line)} for edge in edges]
    for number, page in enumerate(split):
        if not any(page):
            continue
        first = max(0, number - _ADJACENT_PAGES)
        adjacent = set().union(*shapes[first:number], *shapes[number + 1 : number + 1 + _ADJACENT_PAGES])
        for line in page:
            is_edge = line in edges[number]
            is_page_number = is_edge and _PAGE_NUMBER.fullmatch(line)
            is_title = is_edge and number > 0 and _shape(line) in adjacent
            is_contents = len(line) < _MAX_CONTENTS_CHARS and _CONTENTS.fullmatch(line)
            if not (is_page_number or is_title or is_contents):
                yield number, line


def _shape(line: str) -> str:
    """Replace the numbers in a line, which differ from page to page."""
    return re.sub(r"\d+", "#", line)


def _ends_paragraph(around: Sequence[str], before: str, line: str) -> bool:
    """Return whether a paragraph ends between two lines: at an item, a heading or a short line."""
    width = max(len(near) for near in around)
    if _ITEM.match(line) or (_ITEM.match(before) and len(before) < width * 0.6 and is_heading(before)):
        return True
    if line[0].islower() or before.endswith((",", "-")):
        return False
    if not _ENDS.search(before):
        return len(before) < width * 0.75
    return len(before) < width * 0.9 or (len(line) < width * 0.6 and is_heading(line))
