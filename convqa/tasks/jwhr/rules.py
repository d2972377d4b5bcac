"""What is wrong with an entry beyond its schema: what cannot be scored, and what a run should not have."""

from __future__ import annotations

from collections.abc import Iterator

from convqa.tasks.jwhr.schema import Entry, RunEntry
from convqa.validation import shorten


def faults(entry: Entry) -> Iterator[str]:
    """Field, what was found and what is wanted, for sources or answers of which it is not clear what they are."""
    if entry.answer is not None:
        if not entry.answer.text.strip():
            yield f"answer.text: found {shorten(entry.answer.text)}; wanted a text, or no answer at all"
        for field, place in citations(entry):
            if not 0 <= place < len(entry.references):
                wanted = f"the place of one of the {len(entry.references)} references, from 0 on"
                yield f"{field}: found {place}; wanted {wanted}"
    for index, reference in enumerate(entry.references):
        field, page = f"references[{index}]", reference.page
        if page and reference.not_found:
            yield f"{field}: has both page and not_found; wanted one of them"
        if page and not (page.title.strip() or page.url.strip()):
            yield f"{field}.page: has neither title nor url; wanted a page that can be named"


def wrong_in_run(entry: RunEntry) -> Iterator[str]:
    """All that is wrong with an entry of a run."""
    yield from faults(entry)
    if entry.answer is not None:
        joined = "".join(sentence.text for sentence in entry.answer.sentences)
        if joined != entry.answer.text:
            found = shorten(entry.answer.text)
            yield f"answer.text: found {found}; wanted its sentences joined: {shorten(joined)}"
        if entry.failed:
            yield "failed: found true beside an answer; wanted one of them"
    for index, reference in enumerate(entry.references):
        field = f"references[{index}]"
        if bool(reference.search) == bool(reference.link):
            yield f"{field}: wanted either search or link"
        if not (reference.page or reference.not_found):
            yield f"{field}: wanted either page or not_found"
        if reference.link and not 0 <= reference.link.referrer < index:
            yield f"{field}.link.referrer: found {reference.link.referrer}; wanted the place of an earlier reference"


def citations(entry: Entry) -> Iterator[tuple[str, int]]:
    """Every citation of an answer: its field and what it says."""
    for index, sentence in enumerate(entry.answer.sentences if entry.answer else []):
        for number, place in enumerate(sentence.citations):
            yield f"answer.sentences[{index}].citations[{number}]", place
