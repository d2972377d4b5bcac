"""Numbers of list items as word processors write them."""

from __future__ import annotations

_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix"}
_ROMAN |= {5: "v", 4: "iv", 1: "i"}


def numeral(number: int, form: str) -> str:
    """Return a number in one of the forms 1, 01, a, A, i and I, in digits where the form has no such number."""
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
