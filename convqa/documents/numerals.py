"""Numbers as office programs show them: of list items, and of cells in their formats."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

FIRST_DAY = datetime(1899, 12, 30)
"""The day 0 of dates in Excel."""

_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix"}
_ROMAN |= {5: "v", 4: "iv", 1: "i"}
_LITERAL = re.compile(r'\[\$([^\]-]*)[^\]]*\]|"([^"]*)"|\\(.)|\[[^\]]*\]|[_*].')
"""Text in a number format, such as [$€-407] and "kg"; and what shows none, such as [Red]."""
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.([#0?]*))?")


def numeral(number: int, form: str) -> str:
    """Return a number in one of the forms 1, 01, a, A, i and I; in digits where the form has no such number."""
    text = str(number)
    if form == "01":
        text = f"{number:02}"
    elif form in ("a", "A") and 1 <= number <= 26 * 26:
        # After z come aa, bb, cc.
        repeats, letter = divmod(number - 1, 26)
        text = chr(ord("a") + letter) * (repeats + 1)
    elif form in ("i", "I") and 1 <= number < 4000:
        text = ""
        for value, letters in _ROMAN.items():
            repeats, number = divmod(number, value)
            text += letters * repeats
    return text.upper() if form in ("A", "I") else text


def in_format(text: str, code: str, first_day: datetime = FIRST_DAY) -> str:
    """Return a number of a workbook as its format shows it, dates and times in ISO 8601.

    >>> in_format("0.125", "0.0%"), in_format("46143", "d/m/yy"), in_format("1200", '#,##0.00 "euros"')
    ('12.5%', '2026-05-01', '1,200.00 euros')
    """
    try:
        return _formatted(float(text), code.split(";")[0], first_day)
    except (ValueError, OverflowError):
        return text


def _formatted(value: float, code: str, first_day: datetime) -> str:
    if "[h" in code:
        hours, minutes = divmod(round(value * 24 * 60), 60)
        return f"{hours}:{minutes:02}"
    letters = _LITERAL.sub("", code).lower()
    if "general" not in letters and re.search("[ymdhs]", letters):
        day = first_day + timedelta(seconds=round(value * 24 * 60 * 60))
        if not re.search("[yd]", letters) and "h" in letters:
            return f"{day:%H:%M}"
        return f"{day:%Y-%m-%d %H:%M}" if "h" in letters else f"{day:%Y-%m-%d}"
    shown = _LITERAL.sub(lambda match: match[1] or match[2] or match[3] or "", code)
    digits = _DIGITS.search(shown)
    if digits is None or re.search("e[+-]|/", letters):
        return f"{value:.15g}"
    decimals = digits[1] or ""
    number = f"{abs(value) * (100 if '%' in letters else 1):,.{len(decimals)}f}"
    if decimals and not decimals.endswith("0"):
        number = number.rstrip("0").rstrip(".")
    if "," not in digits[0]:
        number = number.replace(",", "")
    sign = "-" if value < 0 else ""
    return f"{sign}{shown[: digits.start()]}{number}{shown[digits.end() :]}".strip()
