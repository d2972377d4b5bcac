"""What scoring compares: an entry's answer with its pages and quotes. Truth and run become the same."""

from __future__ import annotations

from dataclasses import dataclass

from convqa.metrics.citations import Cited, is_valid
from convqa.metrics.sentence_sources import Sourced
from convqa.tasks.jwhr.pages import page_key
from convqa.tasks.jwhr.rules import citations
from convqa.tasks.jwhr.schema import Entry, Page


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer's sentences with the pages that they cite, and the quotes that are cited; none of them twice.

    ``valid`` says of each citation, in order, whether it leads somewhere: to a reference with a page that has a name
    and a quote or a summary.
    """

    text: str
    sentences: tuple[Sourced, ...]
    quotes: tuple[str, ...]
    valid: tuple[bool, ...]

    @property
    def pages(self) -> frozenset[str]:
        return frozenset().union(*(sentence.sources for sentence in self.sentences))


def cited_answer(entry: Entry) -> CitedAnswer | None:
    """The answer of an entry; None where it has none, or one without a text."""
    if entry.answer is None or not entry.answer.text.strip():
        return None
    pages = {
        place: reference.page
        for place, reference in enumerate(entry.references)
        if reference.page and (reference.page.title.strip() or reference.page.url.strip())
    }
    keys = {place: page_key(page.title, page.url) for place, page in pages.items()}
    said = [place for _, place in citations(entry)]
    quoted = (pages[place].quote for place in said if place in pages)
    return CitedAnswer(
        entry.answer.text,
        tuple(
            Sourced(sentence.text, frozenset(keys[place] for place in sentence.citations if place in keys))
            for sentence in entry.answer.sentences
        ),
        tuple(dict.fromkeys(quote.text for quote in quoted if quote is not None and quote.text.strip())),
        tuple(_is_valid(place, pages) for place in said),
    )


def _is_valid(place: int, pages: dict[int, Page]) -> bool:
    text = {str(index): page.text for index, page in pages.items()}
    return is_valid(Cited(str(place), None, None, text.get(str(place), "")), text)
