"""An entry of the data set, as its card has it; a run is written in the same form.

The card: https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja. A field that is null counts as one
that is not there: tables are often exported so.
"""

from __future__ import annotations

from pydantic import Field

from convqa.validation import Record

LANGUAGE = "ja"
"""Of questions, answers and pages."""

WANTED = (
    "{id, question, answer: {text, sentences: [{text, citations}]}, references: [{search or link, page or not_found}]} "
    "as JSON lines or a JSON array"
)
ADVICE = f"Wanted: {WANTED}."


class Shape(Record, extra="allow"):
    """Types are strict; fields that the card does not have are kept."""


class Search(Shape):
    keywords: list[str]


class Link(Shape):
    referrer: int


class Quote(Shape):
    text: str


class Summary(Shape):
    text: str
    method: str


class Page(Shape):
    title: str
    url: str
    quote: Quote | None = None
    summary: Summary | None = None

    @property
    def text(self) -> str:
        """The part of the page that is the source: the quote, or the summary where there is none; "" without both."""
        found = self.quote or self.summary
        return found.text if found else ""


class NotFound(Shape):
    url: str


class Reference(Shape):
    search: Search | None = None
    link: Link | None = None
    page: Page | None = None
    not_found: NotFound | None = None


class Sentence(Shape):
    text: str
    citations: list[int]


class Answer(Shape):
    text: str
    sentences: list[Sentence]


class Entry(Shape):
    """``citations`` and ``referrer`` are places in ``references``, counted from 0; no ``answer``: not answered."""

    id: int = Field(ge=-(2**63), lt=2**63)
    question: str
    answer: Answer | None = None
    references: list[Reference]


class RunEntry(Entry):
    """An entry of a run. What is ours: ``failed`` (nothing was said because something broke, so it is no refusal), and
    ``turn``, whose answer it is, where the id is not its conversation's.
    """

    failed: bool | None = None
    turn: str | None = None
