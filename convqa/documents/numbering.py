"""Numbers of the lists of a Word document, worked out as Word does."""

from __future__ import annotations

from typing import Any

from convqa.documents.archive import number, value

_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_MAX_ROMAN = 39
"""The greatest number that is shown in roman numerals."""

_Levels = dict[int, Any]
"""The elements of a list's levels."""
_Reached = dict[int, int]
"""The numbers of the last item and of those above it, by level."""


class Numbering:
    """The lists of a document, with the numbers reached so far.

    :param root: the element of the part "numbering".
    """

    def __init__(self, root: Any) -> None:
        forms = {form.get("abstractNumId"): form for form in root.iter("abstractNum")}
        linked = {value(form, "styleLink"): form for form in forms.values()}
        # Lists of one form continue each other.
        reached: dict[str, _Reached] = {form_id: {} for form_id in forms}
        self._lists: dict[str, tuple[_Levels, _Reached]] = {}
        self._restarts: dict[tuple[str, int], str] = {}
        for element in root.iter("num"):
            num_id = element.get("numId")
            form_id = value(element, "abstractNumId")
            form = forms.get(form_id, element)
            form = linked.get(value(form, "numStyleLink") or "none", form)
            levels = [*form.iter("lvl"), *element.iter("lvl")]
            by_number = {number(level.get("ilvl")): level for level in levels}
            self._lists[num_id] = by_number, reached.setdefault(form_id, {})
            for override in element.iter("lvlOverride"):
                level = number(override.get("ilvl"))
                self._restarts[num_id, level] = value(override, "startOverride")

    def next_marker(self, num_id: str, level: int) -> str | None:
        """Return the number of the next paragraph of a list, "" for a bullet, None if there is no such list."""
        if num_id not in self._lists:
            return None
        levels, reached = self._lists[num_id]
        if level not in levels:
            return ""
        # A list begins anew only once.
        restart = self._restarts.pop((num_id, level), "")
        if restart or level not in reached:
            reached[level] = number(restart or value(levels[level], "start"), 1)
        else:
            reached[level] += 1
        for deeper in range(level + 1, 9):
            reached.pop(deeper, None)
        return _marker(levels, level, reached)


def _marker(levels: _Levels, level: int, reached: _Reached) -> str:
    """Return the text of a level, such as "%1.%2", with the numbers of the levels in it."""
    if value(levels[level], "numFmt") == "bullet":
        return ""
    marker = value(levels[level], "lvlText")
    in_digits = levels[level].find("isLgl") is not None
    for key, element in levels.items():
        count = reached.get(key, number(value(element, "start"), 1))
        form = "decimal" if in_digits else value(element, "numFmt")
        marker = marker.replace(f"%{key + 1}", _numeral(count, form))
    return marker.strip()


def _numeral(count: int, form: str) -> str:
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
