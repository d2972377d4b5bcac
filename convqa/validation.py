"""pydantic's errors in the user's words: where, what was found, what is wanted."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError


def explain(error: ValidationError) -> list[tuple[str, str]]:
    """One (field, message) for each error; the field is a path such as ``components.reader.type``."""
    return [(path(item["loc"]), _message(item["msg"], item["type"], item["input"])) for item in error.errors()]


def path(location: Sequence[int | str]) -> str:
    """A pydantic location as a path.

    >>> path(("turns", 3, "Question"))
    'turns[3].Question'
    """
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def shorten(value: object, limit: int = 60) -> str:
    """A value as it may stand in a message: its repr, cut.

    >>> shorten("x" * 100, 10)
    "'xxxxxx..."
    """
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _message(wanted: str, kind: str, found: object) -> str:
    if kind == "missing":
        return "is missing"
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return "is not known here"
    return f"found {shorten(found)}; {wanted[0].lower()}{wanted[1:]}"
