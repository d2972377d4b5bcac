"""The sentences of an entry's answer, each with the texts that it cites."""

from __future__ import annotations

from convqa.metrics import alce
from convqa.metrics.alce import CitedSentence
from convqa.tasks.jwhr.schema import Entry, Page


def cited_sentences(entry: Entry) -> list[CitedSentence]:
    """An answer's sentences, each with the quotes or summaries that it cites, under the titles of their pages.

    A reference without a page, or without a quote or summary of it, is an empty text, which supports nothing. A text
    without sentences is one that cites nothing, so that to leave them out gains nothing.
    """
    if entry.answer is None:
        return []
    texts = [_premise(reference.page) for reference in entry.references]
    said = [CitedSentence(sentence.text, _cited(sentence.citations, texts)) for sentence in entry.answer.sentences]
    return said or [CitedSentence(entry.answer.text, ())]


def _cited(places: list[int], texts: list[str]) -> list[str] | None:
    return [texts[place] for place in places] if all(0 <= place < len(texts) for place in places) else None


def _premise(page: Page | None) -> str:
    if page is None or not page.text.strip():
        return ""
    return alce.document(page.title, page.text) if page.title.strip() else page.text
