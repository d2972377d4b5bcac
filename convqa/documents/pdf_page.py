"""Read a page of a PDF with PDFium: its words and rules with their places. Recognize a page that is a picture."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from ctypes import c_double, create_string_buffer
from functools import cache
from itertools import islice
from statistics import median
from sys import maxunicode
from typing import Any

from pypdfium2 import raw

from convqa.documents.pdf_lines import Box, Sheet, Word
from convqa.documents.text import RAISED, clean

_MAX_EDGES = 4_000
"""Edges of rectangles that are read of a page."""
_MAX_SEGMENTS = 5
"""Lines of a rectangle. A drawing with more is no rule."""
_OCR_SCALE = 2.0
"""Pixels a point of pages that are recognized, 144 an inch."""
_RAISED_BY = 0.2
"""Distance of the bottom of a superscript from that of its word, in font sizes."""
_SHADOW = 0.2
"""Distance at which a word is drawn again to look bold or as its own shadow, in font sizes."""
_BOLD = re.compile(rb"(?i)bold|black|heavy|cmbx|demi")
_LEADERS = re.compile(r"[.·…]+")
_LINE_END_HYPHENS = "\x02\ufffe"
"""What PDFium makes of hyphens at the end of a line."""


def read_page(pdf: Any, number: int) -> list[Sheet]:
    """Return what is written on a page in each direction, by its number from 1.

    :raises PdfiumError: if the page is damaged.
    """
    page = pdf[number - 1]
    if pdf.formenv:
        # The values of a form become text of the page, which is then loaded anew.
        page.flatten()
        page = pdf[number - 1]
    words: dict[complex, list[Word]] = defaultdict(list)
    drawn: dict[tuple[str, complex], list[tuple[float, float]]] = defaultdict(list)
    for turn, word in _words(page.get_textpage()):
        # PDFium gives the two halves of a surrogate pair apart.
        units = word.text.encode("utf-16-le", "surrogatepass")
        word.text = clean(units.decode("utf-16-le", "replace"))
        places = drawn[word.text, turn]
        is_again = any(abs(word.left - x) + abs(word.base - y) < _SHADOW * word.size for x, y in places)
        places.append((word.left, word.base))
        # The dots between two columns are a blank.
        if word.text and not is_again and not _LEADERS.fullmatch(word.text):
            words[turn].append(word)
    # Both edges of a narrow rectangle have one place.
    edges = dict.fromkeys(islice(_edges(page), _MAX_EDGES)) if words else {}
    sheets = []
    for turn in words:
        rules = [_box(*edge, turn) for edge in edges]
        sheets.append(Sheet(number, page.get_width(), words[turn], rules))
    return sheets


def has_picture(page: Any) -> bool:
    """Return whether something other than text is drawn on a page."""
    return any(item.type != raw.FPDF_PAGEOBJ_TEXT for item in page.get_objects(max_depth=1))


def recognized(page: Any, number: int) -> list[Sheet]:
    """Return the lines of the picture of a page as words; none if rapidocr is not installed or finds none."""
    recognizer = _recognizer()
    result = recognizer and recognizer(page.render(scale=_OCR_SCALE).to_numpy())
    if not result or result.boxes is None:
        return []
    boxes = (result.boxes / _OCR_SCALE).tolist()
    # The height of a box depends on its letters, not only on their size.
    size = median(box[3][1] - box[0][1] for box in boxes)
    words = []
    for (left_top, _, right_bottom, _), text in zip(boxes, result.txts, strict=True):
        if text.strip():
            words.append(Word(clean(text.strip()), left_top[0], right_bottom[0], right_bottom[1], size))
    return [Sheet(number, page.get_width(), words)] if words else []


@cache
def _recognizer() -> Any:
    """Return rapidocr, which is slow to load, or None if it is not installed."""
    try:
        from rapidocr import RapidOCR
    except ImportError:
        return None
    return RapidOCR(params={"Global.log_level": "critical"})


def _words(text_page: Any) -> Iterator[tuple[complex, Word]]:
    """Yield the words of a page in the order in which they are drawn, each with the turn that makes it upright."""
    edges = raw.FS_RECTF()
    turn = 1 + 0j
    word = None
    before = Box(0, 0, 0, 0)
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        char = chr(code) if code <= maxunicode else "\ufffd"
        raw.FPDFText_GetLooseCharBox(text_page, index, edges)
        if char.isspace():
            if word:
                yield turn, word
            word = None
            continue
        if char in _LINE_END_HYPHENS:
            char = "-"
        box = _box(edges.left, edges.bottom, edges.right, edges.top, turn)
        if word and not _is_next(before, box, word.size):
            yield turn, word
            word = None
        if word:
            is_raised = char.isdigit() and box.bottom < before.bottom - _RAISED_BY * word.size
            if is_raised and RAISED not in word.text:
                word.text += RAISED
            word.text += char
            word.left = min(word.left, box.left)
            word.right = max(word.right, box.right)
        else:
            turn, base, size = _writing(text_page, index)
            box = _box(edges.left, edges.bottom, edges.right, edges.top, turn)
            word = Word(
                char,
                box.left,
                box.right,
                base,
                size,
                _is_bold(text_page, index),
            )
        if len(word.text) > 1:
            # Letters of other fonts have other heights, so that those of the first count.
            box = Box(box.left, before.top, box.right, before.bottom)
        before = box
    if word:
        yield turn, word


def _box(x0: float, y0: float, x1: float, y1: float, turn: complex) -> Box:
    """Return the box between two points of a page, for a reader who turns the page."""
    if turn == 1:
        return Box(x0, -y1, x1, -y0)
    one = complex(x0, y0) * turn
    other = complex(x1, y1) * turn
    left, right = sorted((one.real, other.real))
    bottom, top = sorted((one.imag, other.imag))
    return Box(left, -top, right, -bottom)


def _is_next(before: Box, box: Box, size: float) -> bool:
    """Return whether a letter goes on with a word: beside the letter before, or as its superscript."""
    gap = max(box.left - before.right, before.left - box.right)
    return gap <= size and before.top < (box.top + box.bottom) / 2 < before.bottom


def _writing(text_page: Any, index: int) -> tuple[complex, float, float]:
    """Return the turn that makes a letter upright, its base and its font size."""
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text_page, index, matrix)
    direction = complex(matrix.a, -matrix.b) or 1
    turn = direction / abs(direction)
    turn = complex(round(turn.real, 2), round(turn.imag, 2))
    x = c_double()
    y = c_double()
    raw.FPDFText_GetCharOrigin(text_page, index, x, y)
    base = complex(x.value, y.value) * turn
    size = raw.FPDFText_GetFontSize(text_page, index) * abs(complex(matrix.c, matrix.d))
    return turn, -base.imag, size or 1


def _is_bold(text_page: Any, index: int) -> bool:
    name = create_string_buffer(200)
    raw.FPDFText_GetFontInfo(text_page, index, name, len(name), None)
    return _BOLD.search(name.value) is not None


def _edges(page: Any) -> Iterator[tuple[float, float, float, float]]:
    """Yield the edges of the rectangles of a page. Rules are narrow rectangles."""
    for path in page.get_objects([raw.FPDF_PAGEOBJ_PATH], max_depth=1):
        if raw.FPDFPath_CountSegments(path) > _MAX_SEGMENTS:
            continue
        left, bottom, right, top = map(round, path.get_bounds())
        yield left, bottom, left, top
        yield right, bottom, right, top
        yield left, bottom, right, bottom
        yield left, top, right, top
