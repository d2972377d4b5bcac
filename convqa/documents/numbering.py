"""Numbers of the lists of a Word document, worked out as Word does."""

from __future__ import annotations

import re
from typing import Any

from convqa.documents.archive import attribute, number
from convqa.documents.numerals import numeral

_FORMS = {
    "decimalZero": "01",
    "lowerLetter": "a",
    "upperLetter": "A",
    "lowerRoman": "i",
    "upperRoman": "I",
}


class Numbering:
    """The lists of a document, with the numbers reached so far.

    :param root: the element of word/numbering.xml.
    """

    def __init__(self, root: Any) -> None:
        self._lists = {attribute(element, "numId"): element for element in root.findall("{*}num")}
        self._forms = {attribute(element, "abstractNumId"): element for element in root.findall("{*}abstractNum")}
        self._linked = {attribute(element.find("{*}styleLink"), "val"): element for element in self._forms.values()}
        self._levels: dict[str, dict[int, Any]] = {}
        # Lists of one form continue each other.
        self._reached: dict[str, dict[int, int]] = {}
        self._restarted: set[tuple[str, int]] = set()

    def next_marker(self, num_id: str, level: int, style_id: str = "") -> str | None:
        """Return the number of the next paragraph of a list, "" for a bullet, None if there is no such list.

        :param style_id: the style that puts the paragraph into the list, whose level it has.
        """
        if num_id not in self._lists:
            return None
        levels = self._levels_of(num_id)
        if style_id:
            level = next((key for key, found in levels.items() if _value(found, "pStyle") == style_id), level)
        reached = self._reached.setdefault(_value(self._lists[num_id], "abstractNumId"), {})
        overrides = self._lists[num_id].findall("{*}lvlOverride")
        restarts = {attribute(element, "ilvl"): _value(element, "startOverride") for element in overrides}
        restart = restarts.get(str(level), "")
        if restart and (num_id, level) not in self._restarted:
            reached.pop(level, None)
        self._restarted.add((num_id, level))
        start = number(restart or _value(levels.get(level), "start"), 1)
        reached[level] = reached[level] + 1 if level in reached else start
        for deeper in [key for key in reached if key > level and _value(levels.get(key), "lvlRestart") != "0"]:
            del reached[deeper]
        return self._marker(levels, level, reached)

    def _levels_of(self, num_id: str) -> dict[int, Any]:
        if num_id not in self._levels:
            form = self._forms.get(_value(self._lists[num_id], "abstractNumId"))
            form = self._linked.get(_value(form, "numStyleLink") or "-", form)
            elements = [] if form is None else form.findall("{*}lvl")
            elements += self._lists[num_id].findall("{*}lvlOverride/{*}lvl")
            self._levels[num_id] = {number(attribute(element, "ilvl")): element for element in elements}
        return self._levels[num_id]

    def _marker(self, levels: dict[int, Any], level: int, reached: dict[int, int]) -> str:
        element = levels.get(level)
        if element is None or _value(element, "numFmt") == "bullet":
            return ""
        in_digits = element.find("{*}isLgl") is not None

        def counted(match: re.Match[str]) -> str:
            key = int(match[1]) - 1
            found = levels.get(key)
            form = _value(found, "numFmt")
            if form == "none":
                return ""
            count = reached.get(key, number(_value(found, "start"), 1))
            return numeral(count, "1" if in_digits else _FORMS.get(form, "1"))

        return re.sub(r"%([1-9])", counted, _value(element, "lvlText")).strip()


def _value(element: Any, name: str) -> str:
    """Return the value of a child element."""
    return "" if element is None else attribute(element.find(f"{{*}}{name}"), "val")
