"""The collection that the data set brings: what its workers quoted from pages, and how they summed them up."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator

from convqa.domain import Passage
from convqa.tasks.jwhr.pages import page_key, page_name, plain_url
from convqa.tasks.jwhr.schema import Entry, Page


def passages(entries: Iterable[Entry]) -> Iterator[Passage]:
    """A passage for each quote and each summary, in order; the same text of the same page is one.

    Its id is ``PAGE#DIGEST``: the digest is of page and text, so that it stays whatever else is in the files. ``meta``
    says whether it is a quote or a summary (its ``kind``, which searches can filter by).
    """
    seen: set[str] = set()
    for entry in entries:
        for reference in entry.references:
            for passage in _of_page(reference.page) if reference.page else ():
                if passage.id not in seen:
                    seen.add(passage.id)
                    yield passage


def _of_page(page: Page) -> Iterator[Passage]:
    title, url = unicodedata.normalize("NFC", " ".join(page.title.split())), plain_url(page.url)
    key = page_key(page.title, page.url)
    for kind, source in (("quote", page.quote), ("summary", page.summary)):
        if source is not None and source.text.strip():
            digest = hashlib.blake2b(f"{key}\n{source.text}".encode(), digest_size=6).hexdigest()
            yield Passage(f"{page_name(key)}#{digest}", source.text, title, url, {"kind": kind})
