"""Join the pages of a PDF: drop repeated lines, and join broken words and lines to paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convqa.indexing.cutting import is_heading

_EDGE = 2
"""Lines at the top and bottom of a page that may be running titles or page numbers."""

_NEAR = 2
"""Adjacent pages to search for a running title, because titles of left and right pages differ."""

_LONGEST = 300
"""Maximum characters of a line in a table of contents."""

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
    parts, length, starts, before = [""], 0, [0], ""
    for number, (page, line) in enumerate(lines):
        if not line:
            before = ""
            continue
        if before and not _ends_paragraph([near for _, near in lines[max(0, number - 4) : number + 3]], before, line):
            broken = before[-2:-1].isalpha() and before.endswith("-") and line[0].islower()
            if broken and (before.split()[-1] + line.split()[0]).rstrip(".,;:)") not in compounds:
                parts[-1] = parts[-1][:-1]
                length -= 1
            gap = "" if broken or (_WIDE.match(line) and _WIDE.match(before[-1])) else " "
        else:
            gap = "\n" if before and _ITEM.match(before) and _ITEM.match(line) else "\n\n" if length else ""
        length += len(gap)
        starts += [length] * (page + 1 - len(starts))
        parts += [gap, line]
        length += len(line)
        before = line
    return "".join(parts), starts + [length] * (len(pages) - len(starts))


def _lines(pages: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield (page from 0, line), without page numbers, tables of contents and running titles.

    Lines of the first page are never running titles because they may be the document's title.
    """
    split = [[line.strip() for line in page.strip().split("\n")] if page.strip() else [] for page in pages]
    full = [[line for line in page if line] for page in split]
    edges = [{*page[:_EDGE], *page[-_EDGE:]} for page in full]
    shapes = [{_shape(line) for line in edge} for edge in edges]
    for number, (page, edge) in enumerate(zip(split, edges, strict=True)):
        for line in page:
            is_number = line in edge and _PAGE_NUMBER.fullmatch(line)
            near = shapes[max(0, number - _NEAR) : number] + shapes[number + 1 : number + 1 + _NEAR]
            running = number and line in edge and any(_shape(line) in page for page in near if _LETTER.search(line))
            if not (is_number or running or (len(line) < _LONGEST and _CONTENTS.fullmatch(line))):
                yield number, line


def _shape(line: str) -> str:
    """Replace the numbers in a line, which differ from page to page."""
    return re.sub(r"\d+", "#", line)


def _ends_paragraph(around: Sequence[str], before: str, line: str) -> bool:
    """Return whether a paragraph ends between two lines: at an item, a heading or a short line."""
    width, ends = max(map(len, around)), _ENDS.search(before) is not None
    if _ITEM.match(line) or (_ITEM.match(before) and len(before) < width * 0.6 and is_heading(before)):
        return True
    if line[0].islower() or before.endswith((",", "-")):
        return False
    return len(before) < width * (0.9 if ends else 0.75) or (ends and len(line) < width * 0.6 and is_heading(line))
