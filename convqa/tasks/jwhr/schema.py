"""An entry of the data set, in the format of its card, which runs use too.

The card: https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja. A null field counts as missing,
since tables are often exported like this.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from convqa.tasks.records import RecordFile
from convqa.validation import Record, shorten

LANGUAGE = "ja"

EXPECTED = (
    "{id, question, answer: {text, sentences: [{text, citations}]}, references: [{search or link, page or not_found}]} "
    "as JSON lines or a JSON array"
)


class PageSearch(Record):
    keywords: list[str]


class PageLink(Record):
    referrer: int


class PageQuote(Record):
    text: str


class PageSummary(PageQuote):
    method: str


class Page(Record):
    title: str
    url: str
    quote: PageQuote | None = None
    summary: PageSummary | None = None

    @property
    def text(self) -> str:
        """The text of the source: the quote, else the summary, else ""."""
        source = self.quote or self.summary
        return source.text if source else ""

    @property
    def has_name(self) -> bool:
        return bool(self.title.strip() or self.url.strip())


class NotFound(Record):
    url: str


class Reference(Record):
    search: PageSearch | None = None
    link: PageLink | None = None
    page: Page | None = None
    not_found: NotFound | None = None


class AnswerSentence(Record):
    text: str
    citations: list[int]


class EntryAnswer(Record):
    text: str
    sentences: list[AnswerSentence]


class JWHREntry(Record):
    """A question with its answer, if any. ``citations`` and ``referrer`` are indexes of ``references``."""

    id: int = Field(ge=-(2**63), lt=2**63)
    question: str
    answer: EntryAnswer | None = None
    references: list[Reference]


class RunEntry(JWHREntry):
    """An entry of a run. Our own field is ``failed`` (an error, so not a refusal)."""

    failed: bool | None = None


ENTRIES = RecordFile(JWHREntry, "entry", "id", EXPECTED, f"Expected: {EXPECTED}.")
RUN_ENTRIES = RecordFile(RunEntry, "entry", "id", EXPECTED, f"Expected: {EXPECTED}.")


def entry_faults(entry: JWHREntry) -> Iterator[str]:
    """Yield a message for each ambiguous source or answer of an entry."""
    if entry.answer is not None:
        if not entry.answer.text.strip():
            yield f"answer.text: expected a text, or no answer at all, got {shorten(entry.answer.text)}"
        for field, reference_no in citations(entry):
            if not 0 <= reference_no < len(entry.references):
                yield f"{field}: expected the index of one of {len(entry.references)} references, got {reference_no}"
    for index, reference in enumerate(entry.references):
        field = f"references[{index}]"
        if reference.page and reference.not_found:
            yield f"{field}: has both page and not_found; expected one of them"
        if reference.page and not reference.page.has_name:
            yield f"{field}.page: has neither title nor url; expected one of them"


def run_faults(entry: RunEntry) -> Iterator[str]:
    """Yield a message for each fault of an entry of a run."""
    yield from entry_faults(entry)
    if entry.answer is not None:
        joined = "".join(sentence.text for sentence in entry.answer.sentences)
        if joined != entry.answer.text:
            yield f"answer.text: expected its joined sentences {shorten(joined)}, got {shorten(entry.answer.text)}"
        if entry.failed:
            yield "failed: is true, but there is an answer; expected one of them"
    for index, reference in enumerate(entry.references):
        field = f"references[{index}]"
        if bool(reference.search) == bool(reference.link):
            yield f"{field}: expected either search or link"
        if not (reference.page or reference.not_found):
            yield f"{field}: expected either page or not_found"
        if reference.link and not 0 <= reference.link.referrer < index:
            yield f"{field}.link.referrer: expected the index of an earlier reference, got {reference.link.referrer}"


def citations(entry: JWHREntry) -> Iterator[tuple[str, int]]:
    """Yield (field, index of the reference) of each citation of an answer."""
    sentences = entry.answer.sentences if entry.answer else []
    for index, sentence in enumerate(sentences):
        for number, reference_no in enumerate(sentence.citations):
            yield (
                f"answer.sentences[{index}].citations[{number}]",
                reference_no,
            )
