"""Read the workers' answers with their pages, and the questions that they could not answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from convqa.domain import TurnId
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.passages import page_key
from convqa.tasks.jwhr.schema import JWHREntry, citations
from convqa.tasks.scores import Gold, GoldTurn


@dataclass(frozen=True, slots=True)
class JWHRTruth(GoldTurn):
    """``answer`` is None if the worker found none. ``fields``: chunk (answered, not_answered) and file."""

    answer: SourcedAnswer | None


def read(path: Path) -> Gold[JWHRTruth]:
    """Read the answers in a file, or in all files of a folder."""
    turns = []
    for file, entry in read_entries(path):
        answer = sourced_answer(entry)
        fields = {
            "chunk": "not_answered" if answer is None else "answered",
            "file": file.name,
        }
        turns.append(JWHRTruth(TurnId(entry.id, 1), fields, answer))
    return Gold(path, tuple(turns))


@dataclass(frozen=True, slots=True)
class SourcedAnswer:
    """An answer with the keys of the pages that it cites, and the distinct quotes.

    ``valid``: for each citation, whether its reference has a page with a name and a quote or summary.
    """

    text: str
    pages: frozenset[str] = frozenset()
    quotes: tuple[str, ...] = ()
    valid: tuple[bool, ...] = ()


def sourced_answer(entry: JWHREntry) -> SourcedAnswer | None:
    """Return the answer of an entry; None if it has no answer, or one without text."""
    if entry.answer is None or not entry.answer.text.strip():
        return None
    pages = {
        index: reference.page
        for index, reference in enumerate(entry.references)
        if reference.page is not None and reference.page.has_name
    }
    cited = [pages.get(index) for _, index in citations(entry)]
    named = [page for page in cited if page is not None]
    keys = frozenset(page_key(page.title, page.url) for page in named)
    quotes = dict.fromkeys(page.quote.text for page in named if page.quote is not None and page.quote.text.strip())
    valid = tuple(page is not None and bool(page.text.strip()) for page in cited)
    return SourcedAnswer(entry.answer.text, keys, tuple(quotes), valid)
