"""Read the workers' answers with their pages, and the questions that they could not answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.metrics.sentence_sources import Sourced
from convqa.tasks import scores
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.passages import page_key
from convqa.tasks.jwhr.schema import Entry, citations


@dataclass(frozen=True, slots=True)
class GoldTurn(scores.GoldTurn):
    """``answer`` is None if the worker found none. ``fields``: chunk (answered, not_answered) and file."""

    answer: SourcedAnswer | None


class Gold(scores.Gold[GoldTurn]):
    """The workers' answers."""


def read(path: Path) -> Gold:
    """Read the answers in a file, or in all files of a folder."""
    turns = []
    for file, entry in read_entries(path):
        answer = sourced_answer(entry)
        fields = {"chunk": "not_answered" if answer is None else "answered", "file": file.name}
        turns.append(GoldTurn(TurnId(entry.id, 1), fields, answer))
    return Gold(path, tuple(turns))


@dataclass(frozen=True, slots=True)
class SourcedAnswer:
    """An answer's sentences with the pages that they cite, and the distinct quotes.

    ``valid``: for each citation, whether its reference has a page with a name and a quote or summary.
    """

    text: str
    sentences: tuple[Sourced, ...]
    quotes: tuple[str, ...]
    valid: tuple[bool, ...]

    @property
    def pages(self) -> frozenset[str]:
        return frozenset().union(*(sentence.sources for sentence in self.sentences))


def sourced_answer(entry: Entry) -> SourcedAnswer | None:
    """Return the answer of an entry; None if it has no answer, or one without text."""
    if entry.answer is None or not entry.answer.text.strip():
        return None
    pages = {
        index: reference.page
        for index, reference in enumerate(entry.references)
        if reference.page and (reference.page.title.strip() or reference.page.url.strip())
    }
    keys = {index: page_key(page.title, page.url) for index, page in pages.items()}
    cited = [index for _, index in citations(entry)]
    quoted = (pages[index].quote for index in cited if index in pages)
    return SourcedAnswer(
        entry.answer.text,
        tuple(
            Sourced(sentence.text, frozenset(keys[index] for index in sentence.citations if index in keys))
            for sentence in entry.answer.sentences
        ),
        tuple(dict.fromkeys(quote.text for quote in quoted if quote is not None and quote.text.strip())),
        tuple(index in pages and bool(pages[index].text.strip()) for index in cited),
    )
