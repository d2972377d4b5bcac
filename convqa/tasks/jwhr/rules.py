"""Checks of an entry beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator

from convqa.tasks.jwhr.schema import Entry, RunEntry
from convqa.validation import shorten


def entry_faults(entry: Entry) -> Iterator[str]:
    """Yield a message for each ambiguous source or answer of an entry."""
    if entry.answer is not None:
        if not entry.answer.text.strip():
            yield f"answer.text: expected a text, or no answer at all, got {shorten(entry.answer.text)}"
        for field, reference_no in citations(entry):
            if not 0 <= reference_no < len(entry.references):
                yield f"{field}: expected the index of one of {len(entry.references)} references, got {reference_no}"
    for index, reference in enumerate(entry.references):
        field, page = f"references[{index}]", reference.page
        if page and reference.not_found:
            yield f"{field}: has both page and not_found; expected one of them"
        if page and not (page.title.strip() or page.url.strip()):
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


def citations(entry: Entry) -> Iterator[tuple[str, int]]:
    """Yield (field, index of the reference) of each citation of an answer."""
    for index, sentence in enumerate(entry.answer.sentences if entry.answer else []):
        for number, reference_no in enumerate(sentence.citations):
            yield f"answer.sentences[{index}].citations[{number}]", reference_no
