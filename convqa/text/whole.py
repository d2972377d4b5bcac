"""A passage as one text, for models that read title and text together."""

from __future__ import annotations

from convqa.domain import Passage


def whole_text(passage: Passage) -> str:
    """Title, line end, text; the text alone where there is no title.

    >>> whole_text(Passage("f", "Goethe wrote it.", title="Faust"))
    'Faust\\nGoethe wrote it.'
    """
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
