"""Read a PDF: its words with their places, by PDFium, which :mod:`convqa.documents.pdf_layout` makes blocks of."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ctypes import c_double, c_float, c_int, c_void_p, cast, create_string_buffer
from dataclasses import dataclass
from datetime import date
from functools import cache
from math import atan2, cos, degrees, hypot, radians, sin
from statistics import median
from threading import Lock
from typing import Any
from unicodedata import category, normalize

from convqa.documents.blocks import Document, Unreadable
from convqa.documents.pdf_layout import Sheet, Stroke, Word, blocks_of
from convqa.domain import MetaValue
from convqa.errors import InputError

_MAX_PAGES = 5_000
"""Pages that are read, because a small file can name one page any number of times."""

_MAX_CHARACTERS = 5_000_000
"""Characters that are read."""

_MAX_PATHS = 5_000
"""Drawings of a page that are searched for rules. A page with more is a chart or a map."""

_MAX_SEGMENTS = 1_000
"""Segments of one drawing that are searched for rules."""

_RULE_WIDTH = 3.0
"""Points. A filled rectangle that is not wider is a rule."""

_OCR_SCALE = 2.0
"""Pixels a point of pages that are recognized, 144 an inch."""

_OCR_FONT_SIZE = 0.9
"""Size of letters, in heights of the box around their line."""

_MIN_OCR_SCORE = 0.5
"""Confidence of rapidocr below which a line is noise."""

_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?")
_MONOSPACED = re.compile(r"(?i)courier|mono(?!type)|consol|menlo|inconsolata|typewriter|cmtt|lucidasanstyp")
_BOLD = re.compile(r"(?i)bold|black|heavy|cmbx|semibold|demi")
_FIXED_PITCH = 1
"""The flag of fonts in which each character has the same width (ISO 32000, 9.8.2)."""
_FORCE_BOLD = 1 << 18
_BOLD_WEIGHT = 600
_NO_TEXT = "it has no text: run OCR on a scan first, or pip install 'convqa[ocr]'"
_LINE_END_HYPHENS = (0x02, 0xFFFE)
"""What PDFium makes of hyphens at the end of a line."""
_JOINERS = "\u200c\u200d"
"""Invisible characters that Persian, the languages of India and emoji need."""
_LIGATURES = {chr(code): normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}

_LOCK = Lock()
"""PDFium is not safe for threads."""


def read_pdf(data: bytes) -> Document:
    """Return the blocks of a PDF, with its title, author and date.

    :raises Unreadable: if the PDF is damaged, encrypted or has no text.
    :raises InputError: if pypdfium2 is not installed.
    """
    try:
        import pypdfium2
    except ImportError as error:
        raise InputError("PDFs need packages that are not installed: pip install 'convqa[documents]'.") from error
    with _LOCK:
        try:
            pdf = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
                raise Unreadable("it is encrypted; save it without its password") from error
            raise Unreadable("it is damaged or no PDF") from error
        try:
            return _document(pdf)
        finally:
            pdf.close()


def _document(pdf: Any) -> Document:
    page_count = len(pdf)
    if not page_count:
        raise Unreadable("it has no pages")
    has_form = pdf.get_formtype() > 0
    if has_form:
        pdf.init_forms()
    unread = []
    sheets: list[Sheet] = []
    pictures = []
    recognized = 0
    characters = 0
    for number in range(1, min(page_count, _MAX_PAGES) + 1):
        width, words, rules = _read_page(pdf, number - 1, has_form)
        if not words:
            words = _recognize(pdf, number - 1)
            recognized += bool(words)
        if not words:
            pictures.append(number)
        characters += sum(len(word.text) for written in words.values() for word in written)
        sheets += _sheets(number, width, words, rules)
        if characters > _MAX_CHARACTERS:
            break
    if number < page_count:
        unread.append(f"pages {number + 1:,} to {page_count:,} were not read, because it is too long")
    if not characters:
        raise Unreadable(_NO_TEXT)
    if len(pictures) == 1:
        unread.append(f"page {pictures[0]} is a picture")
    elif pictures:
        unread.append(f"{len(pictures)} of {number} pages are pictures: {', '.join(map(str, pictures))}")
    blocks = blocks_of(sheets)
    counts = {"pages": number, "tables": 0, "recognized": recognized}
    is_row = False
    for block in blocks:
        counts["tables"] += block.kind == "header" or (block.kind == "row" and not is_row)
        is_row = block.kind in ("header", "row")
    properties = pdf.get_metadata_dict(skip_empty=True)
    return Document(
        blocks=tuple(blocks),
        title=_clean(properties.get("Title", "")),
        meta=_meta(properties),
        counts={name: count for name, count in counts.items() if count},
        unread=tuple(unread),
    )


def _meta(properties: Mapping[str, str]) -> dict[str, MetaValue]:
    meta: dict[str, MetaValue] = {}
    if properties.get("Author"):
        meta["author"] = _clean(properties["Author"])
    day = _DATE.match(properties.get("CreationDate") or properties.get("ModDate") or "")
    if day:
        # A PDF may name a day that does not exist.
        with suppress(ValueError):
            meta["date"] = date(*(int(part or 1) for part in day.groups())).isoformat()
    return meta


def _clean(text: str) -> str:
    """Return a text with whole surrogate pairs, without control characters, soft hyphens and ligatures."""
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    kept = (char for char in text if category(char) not in ("Cc", "Cf", "Cn") or char in _JOINERS)
    return "".join(_LIGATURES.get(char, char) for char in kept)


@dataclass(slots=True)
class _Run:
    """Characters of a word, and the box around them on the page, in points from the left and bottom.

    :param start: the number of the first character.
    :param angle: at which it is written, in degrees.
    """

    start: int
    text: str
    left: float
    bottom: float
    right: float
    top: float
    is_spaced: bool
    angle: int
    size: float


def _read_page(pdf: Any, index: int, has_form: bool) -> tuple[float, dict[int, list[Word]], list[Stroke]]:
    """Return the width of a page, its words by the angle at which they are written, and its rules."""
    page = pdf[index]
    if has_form:
        # The values of a form become text of the page, which is then loaded anew.
        page.flatten()
        page.close()
        page = pdf[index]
    text_page = page.get_textpage()
    left, bottom, right, top = page.get_bbox()
    words: dict[int, list[Word]] = defaultdict(list)
    seen = set()
    fonts: dict[int | None, tuple[bool, bool]] = {}
    for run in _runs(text_page):
        is_visible = left <= (run.left + run.right) / 2 <= right and bottom <= (run.bottom + run.top) / 2 <= top
        text = _clean(run.text)
        if not is_visible or not text:
            continue
        if any(char.isalnum() for char in text):
            # A shadow or a fake bold is the same word again, a little beside.
            x, y = round(run.left / 2), round(run.bottom / 2)
            if any((text, near_x, near_y) in seen for near_x in (x - 1, x, x + 1) for near_y in (y - 1, y, y + 1)):
                continue
            seen.add((text, x, y))
        words[run.angle].append(_word(text_page, run, text, fonts))
    rules = list(_rules(page)) if words else []
    text_page.close()
    page.close()
    return right - left, words, rules


def _runs(text_page: Any) -> Iterator[_Run]:
    """Yield the words of a page in the order in which they are drawn."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    matrix = raw.FS_MATRIX()
    run = None
    last = (0.0, 0.0, 0.0, 0.0)
    is_spaced = True
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        if code in _LINE_END_HYPHENS:
            code = ord("-")
        char = chr(code)
        if char.isspace():
            if run:
                yield run
                run = None
            is_spaced = True
            continue
        raw.FPDFText_GetLooseCharBox(text_page, index, box)
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if run:
            em = max(min(right - left, top - bottom), (top - bottom) / 2, 1.0)
            moved_x = abs(left - last[0])
            moved_y = abs(bottom - last[1])
            is_doubled = char == run.text[-1] and moved_x < (right - left) * 0.4 and moved_y < em * 0.4
            # PDFium gives the letters of a ligature the same place.
            if is_doubled and (left, bottom) != last[:2]:
                continue
            gap = max(left - last[2], last[0] - right, bottom - last[3], last[1] - top)
            aside = {0: moved_y, 180: moved_y, 90: moved_x, 270: moved_x}.get(run.angle, min(moved_x, moved_y))
            if gap > em or aside > em * 0.2:
                yield run
                run = None
        if run:
            run.text += char
            run.left = min(run.left, left)
            run.bottom = min(run.bottom, bottom)
            run.right = max(run.right, right)
            run.top = max(run.top, top)
        else:
            raw.FPDFText_GetMatrix(text_page, index, matrix)
            angle = round(degrees(atan2(matrix.b, matrix.a))) % 360
            size = raw.FPDFText_GetFontSize(text_page, index) * hypot(matrix.c, matrix.d)
            run = _Run(index, char, left, bottom, right, top, is_spaced, angle, size or top - bottom)
            is_spaced = False
        last = (left, bottom, right, top)
    if run:
        yield run


def _word(text_page: Any, run: _Run, text: str, fonts: dict[int | None, tuple[bool, bool]]) -> Word:
    """Return a word where it stands for a reader who turns the page until the word is upright."""
    from pypdfium2 import raw

    shown = raw.FPDFText_GetTextObject(text_page, run.start)
    font = raw.FPDFTextObj_GetFont(shown) if shown else None
    key = cast(font, c_void_p).value if font else None
    if key not in fonts:
        fonts[key] = _font_style(font) if font else (False, False)
    x = c_double()
    y = c_double()
    raw.FPDFText_GetCharOrigin(text_page, run.start, x, y)
    _, base = _upright(x.value, y.value, run.angle)
    left, bottom = _upright(run.left, run.bottom, run.angle)
    right, top = _upright(run.right, run.top, run.angle)
    left, right = sorted((left, right))
    top, bottom = sorted((top, bottom))
    return Word(text, left, right, top, bottom, base, run.size, *fonts[key], run.is_spaced)


def _font_style(font: Any) -> tuple[bool, bool]:
    """Return whether a font is bold and monospaced."""
    from pypdfium2 import raw

    buffer = create_string_buffer(200)
    raw.FPDFFont_GetBaseFontName(font, buffer, len(buffer))
    name = buffer.value.decode(errors="replace")
    flags = raw.FPDFFont_GetFlags(font)
    is_bold = bool(_BOLD.search(name)) or bool(flags & _FORCE_BOLD) or raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
    return is_bold, bool(_MONOSPACED.search(name)) or bool(flags & _FIXED_PITCH)


def _upright(x: float, y: float, angle: int) -> tuple[float, float]:
    """Return a point of the page, turned by an angle, in points from the left and downwards."""
    if not angle:
        return x, -y
    turn = radians(angle)
    return x * cos(turn) + y * sin(turn), x * sin(turn) - y * cos(turn)


def _rules(page: Any) -> Iterator[Stroke]:
    """Yield the horizontal and vertical lines of a page, the edges of rectangles among them."""
    from pypdfium2 import raw

    paths = 0
    fill = c_int()
    stroke = c_int()
    matrix = raw.FS_MATRIX()
    x = c_float()
    y = c_float()
    for number in range(raw.FPDFPage_CountObjects(page)):
        path = raw.FPDFPage_GetObject(page, number)
        if raw.FPDFPageObj_GetType(path) != raw.FPDF_PAGEOBJ_PATH:
            continue
        paths += 1
        if paths > _MAX_PATHS:
            return
        raw.FPDFPath_GetDrawMode(path, fill, stroke)
        if not fill.value and not stroke.value:
            continue
        raw.FPDFPageObj_GetMatrix(path, matrix)
        before = start = (0.0, 0.0)
        for position in range(min(raw.FPDFPath_CountSegments(path), _MAX_SEGMENTS)):
            segment = raw.FPDFPath_GetPathSegment(path, position)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            point = (
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                matrix.b * x.value + matrix.d * y.value + matrix.f,
            )
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_MOVETO:
                start = point
            elif kind == raw.FPDF_SEGMENT_LINETO:
                yield Stroke(*before, *point)
            if raw.FPDFPathSegment_GetClose(segment):
                yield Stroke(*point, *start)
            before = point


def _sheets(number: int, width: float, words: dict[int, list[Word]], rules: list[Stroke]) -> list[Sheet]:
    """Return the words of a page by angle, the angle with most words first."""
    sheets = []
    for angle in sorted(words, key=lambda angle: -len(words[angle])):
        turned = []
        for rule in rules:
            x0, y0 = _upright(rule.x0, rule.y0, angle)
            x1, y1 = _upright(rule.x1, rule.y1, angle)
            turned.append(Stroke(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))
        sheets.append(Sheet(number, width, words[angle], turned))
    return sheets


@cache
def _recognizer() -> Any:
    """Return rapidocr, which is slow to load, or None if it is not installed."""
    try:
        from rapidocr import RapidOCR
    except ImportError:
        return None
    return RapidOCR(params={"Global.log_level": "critical"})


def _recognize(pdf: Any, index: int) -> dict[int, list[Word]]:
    """Return the lines of the picture of a page as words."""
    recognizer = _recognizer()
    if recognizer is None:
        return {}
    page = pdf[index]
    picture = page.render(scale=_OCR_SCALE).to_numpy()
    page.close()
    found = recognizer(picture)
    if found.boxes is None:
        return {}
    boxes = found.boxes / _OCR_SCALE
    heights = boxes[:, :, 1].max(axis=1) - boxes[:, :, 1].min(axis=1)
    usual = float(median(heights))
    words = []
    for box, height, text, score in zip(boxes, heights, found.txts, found.scores, strict=True):
        if score < _MIN_OCR_SCORE or not text.strip():
            continue
        left, top = (float(place) for place in box.min(axis=0))
        right, bottom = (float(place) for place in box.max(axis=0))
        # The height of a box depends on its letters, too.
        size = usual if abs(height - usual) < 0.3 * usual else float(height)
        words.append(Word(_clean(text.strip()), left, right, top, bottom, bottom, size * _OCR_FONT_SIZE))
    return {0: words} if words else {}
