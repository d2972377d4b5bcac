"""An entry of the data set, in the format of its card, which runs use too.

The card: https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja. A null field counts as missing,
since tables are often exported like this.
"""

from __future__ import annotations

from pydantic import Field

from convqa.validation import Record

LANGUAGE = "ja"

EXPECTED = (
    "{id, question, answer: {text, sentences: [{text, citations}]}, references: [{search or link, page or not_found}]} "
    "as JSON lines or a JSON array"
)
ADVICE = f"Expected: {EXPECTED}."


class Shape(Record, extra="allow"):
    """Types are strict; unknown fields are kept."""


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
        """The text of the source: the quote, else the summary, else ""."""
        source = self.quote or self.summary
        return source.text if source else ""


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
    """A question with its answer, if any. ``citations`` and ``referrer`` are indexes of ``references``."""

    id: int = Field(ge=-(2**63), lt=2**63)
    question: str
    answer: Answer | None = None
    references: list[Reference]


class RunEntry(Entry):
    """An entry of a run. Our own fields are ``failed`` (an error, so not a refusal) and ``turn`` (the turn, if the id
    is not that of its conversation).
    """

    failed: bool | None = None
    turn: str | None = None
