"""The workers' answers with their pages; and the questions that they could not answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.metrics.sentence_sources import Sourced
from convqa.tasks import scores
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.passages import page_key
from convqa.tasks.jwhr.rules import citations
from convqa.tasks.jwhr.schema import Entry


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """``answer`` is None where the worker found none. ``fields``: chunk (answered, not_answered) and file."""

    answer: CitedAnswer | None


class Gold(scores.Gold[GoldTurn]):
    """The workers' answers."""


def read(path: Path) -> Gold:
    """The answers in a file, or in all files of a folder."""
    turns = []
    for file, entry in read_entries(path):
        answer = cited_answer(entry)
        fields = {"chunk": "not_answered" if answer is None else "answered", "file": file.name}
        turns.append(GoldTurn(TurnId(entry.id, 1), fields, answer))
    return Gold(path, tuple(turns))


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
        tuple(place in pages and bool(pages[place].text.strip()) for place in said),
    )
