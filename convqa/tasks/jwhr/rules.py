"""Checks of an entry beyond its schema: errors that prevent scoring, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from convqa.tasks.jwhr.schema import Entry, Reference, RunEntry, unknown_fields
from convqa.validation import shorten


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: its kind, by which warnings count; the field; what was found and is wanted."""

    kind: str
    field: str
    message: str


def faults(entry: Entry) -> Iterator[Finding]:
    """Faults of a truth that cannot be scored: sources or answers of which it is not clear what they are."""
    if entry.answer is not None:
        if not entry.answer.text.strip():
            problem = f"found {shorten(entry.answer.text)}; wanted a text, or no answer at all"
            yield Finding("empty answers", "answer.text", problem)
        for field, place in citations(entry):
            if not 0 <= place < len(entry.references):
                problem = f"found {place}; wanted the place of one of the {len(entry.references)} references, from 0 on"
                yield Finding("citations of no reference", field, problem)
    for index, reference in enumerate(entry.references):
        field, page = f"references[{index}]", reference.page
        if page and reference.not_found:
            problem = "has both page and not_found; wanted one of them"
            yield Finding("references with page and not_found", field, problem)
        if page and not (page.title.strip() or page.url.strip()):
            problem = "has neither title nor url; wanted a page that can be named"
            yield Finding("pages without title and url", f"{field}.page", problem)


def oddities(entry: Entry) -> Iterator[Finding]:
    """Differences from the card that change no score."""
    if entry.answer is not None:
        joined = "".join(sentence.text for sentence in entry.answer.sentences)
        if joined != entry.answer.text:
            problem = f"found {shorten(entry.answer.text)}; wanted its sentences joined: {shorten(joined)}"
            yield Finding("answers that are not their sentences joined", "answer.text", problem)
    for field, place in citations(entry):
        if 0 <= place < len(entry.references) and entry.references[place].page is None:
            problem = f"found {place}, a reference without a page; wanted one with a page"
            yield Finding("citations of references without a page", field, problem)
    for index, reference in enumerate(entry.references):
        yield from _of_reference(reference, index, len(entry.references))
    for field in unknown_fields(entry):
        yield Finding("unknown fields", field, "is not known here")


def wrong_in_run(entry: RunEntry) -> Iterator[Finding]:
    """All that is wrong with an entry of a run."""
    yield from faults(entry)
    yield from oddities(entry)
    if entry.failed and entry.answer is not None:
        yield Finding("failed entries with an answer", "failed", "found true beside an answer; wanted one of them")


def citations(entry: Entry) -> Iterator[tuple[str, int]]:
    """Every citation of an answer: its field and what it says."""
    for index, sentence in enumerate(entry.answer.sentences if entry.answer else []):
        for number, place in enumerate(sentence.citations):
            yield f"answer.sentences[{index}].citations[{number}]", place


def _of_reference(reference: Reference, index: int, count: int) -> Iterator[Finding]:
    field, page = f"references[{index}]", reference.page
    if reference.search and reference.link:
        yield Finding("references with search and link", field, "has both search and link; wanted one of them")
    for names, found in (
        ("search nor link", reference.search or reference.link),
        ("page nor not_found", reference.page or reference.not_found),
    ):
        if not found:
            yield Finding(f"references with neither {names}", field, f"has neither {names}; wanted one of them")
    if reference.link and not 0 <= reference.link.referrer < index:
        wanted = f"the place of an earlier one of the {count} references, from 0 on"
        problem = f"found {reference.link.referrer}; wanted {wanted}"
        yield Finding("links from no earlier reference", f"{field}.link.referrer", problem)
    if page and page.quote and page.summary:
        problem = "has both quote and summary; wanted at most one of them"
        yield Finding("pages with quote and summary", f"{field}.page", problem)
    for name, source in (("quote", page.quote), ("summary", page.summary)) if page else ():
        if source is not None and not source.text.strip():
            problem = f"found {shorten(source.text)}; wanted a text, or no {name}"
            yield Finding("empty quotes and summaries", f"{field}.page.{name}.text", problem)
