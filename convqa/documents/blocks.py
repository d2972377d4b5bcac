"""Documents as blocks: what every format is read into, before the text is cut into passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from convqa.domain import MetaField

BlockKind = Literal["heading", "paragraph", "item", "caption", "header", "row", "code", "footnote"]


class Unreadable(Exception):
    """A document has no readable text. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document.

    A line break in ``text`` is one of the document, such as ``<br>``; wrapped lines are joined by blanks. An empty
    paragraph ends a table.

    :param level: of a heading, 1 to 6.
    :param marker: the number of a numbered item as written, such as "3." or "b)"; "" for a bullet.
    :param cells: of a row, and of the header row of a table, which precedes its rows. They have no ``text``.
    :param page: from 1; 0 for formats without pages.
    """

    kind: BlockKind
    text: str = ""
    level: int = 1
    marker: str = ""
    cells: tuple[str, ...] = ()
    page: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A document as its format's reader returns it.

    :param title: the document's own title, "" for none.
    :param meta: its properties as fields that filters compare: date (ISO 8601), author, version, language ...
    :param unread: what was not read, such as "page 2 is a picture" or "3 images".
    :param pages: the number of pages that were read, 0 for formats without pages.
    :param recognized: the pages that are pictures, whose text was recognized.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    meta: Mapping[str, MetaField] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    pages: int = 0
    recognized: frozenset[int] = frozenset()


def amounts(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return counts of what was not read as texts, without those that are 0.

    >>> amounts({"images": 3, "charts": 0})
    ('3 images',)
    """
    return tuple(f"{count} {things}" for things, count in counts.items() if count)
