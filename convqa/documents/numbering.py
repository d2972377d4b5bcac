"""Numbers of the lists of a Word document, worked out as Word does."""

from __future__ import annotations

from typing import Any

from convqa.documents.archive import number, value

_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_MAX_ROMAN = 39
"""The greatest number that is shown in roman numerals."""


class Numbering:
    """The lists of a document, with the numbers reached so far.

    ``levels`` are those of styles that number their paragraphs.

    :param root: the element of the part "numbering".
    """

    def __init__(self, root: Any) -> None:
        self._lists = {}
        self._forms = {}
        self._linked = {}
        self.levels: dict[str, str] = {}
        for element in root.iter("num"):
            self._lists[element.get("numId")] = element
        for form in root.iter("abstractNum"):
            self._forms[form.get("abstractNumId")] = form
            self._linked[value(form, "styleLink")] = form
        for level in root.iter("lvl"):
            self.levels[value(level, "pStyle")] = level.get("ilvl")
        # The numbers of the last items, by form and level: lists of one form continue each other.
        self._reached: dict[str, dict[int, int]] = {}

    def next_marker(self, num_id: str, level: int) -> str | None:
        """Return the number of the next paragraph of a list, "" for a bullet, None if there is no such list."""
        if num_id not in self._lists:
            return None
        element = self._lists[num_id]
        form_id = value(element, "abstractNumId")
        form = self._forms.get(form_id, element)
        form = self._linked.get(value(form, "numStyleLink") or "none", form)
        levels = {}
        for properties in (*form.iter("lvl"), *element.iter("lvl")):
            levels[number(properties.get("ilvl"))] = properties
        if level not in levels:
            return ""
        reached = self._reached.setdefault(form_id, {})
        start = value(levels[level], "start")
        restart = element.find(f"lvlOverride[@ilvl='{level}']/startOverride")
        if restart is not None:
            start = restart.get("val")
            reached.pop(level, None)
            # A list begins anew only once.
            restart.getparent().remove(restart)
        if level in reached:
            reached[level] += 1
        else:
            reached[level] = number(start, 1)
        for deeper in range(level + 1, 9):
            reached.pop(deeper, None)
        return _marker(levels, level, reached)


def _marker(
    levels: dict[int, Any],
    level: int,
    reached: dict[int, int],
) -> str:
    """Return the text of a level, such as "%1.%2", with the numbers of the levels in it."""
    if value(levels[level], "numFmt") == "bullet":
        return ""
    marker = value(levels[level], "lvlText")
    in_digits = levels[level].find("isLgl") is not None
    for key, properties in levels.items():
        start = number(value(properties, "start"), 1)
        count = reached.get(key, start)
        form = "decimal" if in_digits else value(properties, "numFmt")
        marker = marker.replace(f"%{key + 1}", numeral(count, form))
    return marker.strip()


def numeral(count: int, form: str) -> str:
    """Return a number in a form of Word, such as "lowerRoman"."""
    text = str(count)
    if form == "decimalZero":
        text = text.zfill(2)
    elif form.endswith("Letter"):
        # After z come aa, bb, cc.
        repeats, letter = divmod(count - 1, 26)
        text = chr(ord("a") + letter) * (repeats + 1)
    elif form.endswith("Roman") and count <= _MAX_ROMAN:
        text = "x" * (count // 10) + _ONES[count % 10]
    return text.upper() if form.startswith("upper") else text
