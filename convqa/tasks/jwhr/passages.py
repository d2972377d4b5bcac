"""The passages of the data set: the quotes and summaries of pages by its workers."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from convqa.domain import Passage
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.schema import JWHREntry, Page


def passages(path: Path) -> Iterator[Passage]:
    """Yield the passages of a file or of all files of a folder."""
    yield from passages_of(entry for _, entry in read_entries(path))


def passages_of(entries: Iterable[JWHREntry]) -> Iterator[Passage]:
    """Yield a passage per distinct quote or summary of a page, in order.

    The id is ``PAGE#DIGEST``, with a digest of page and text, so that it does not depend on the rest of the files. The
    ``kind`` in ``meta`` is quote or summary; searches can filter by it.
    """
    seen: set[str] = set()
    for entry in entries:
        for reference in entry.references:
            for passage in _of_page(reference.page) if reference.page else ():
                if passage.id not in seen:
                    seen.add(passage.id)
                    yield passage


def _of_page(page: Page) -> Iterator[Passage]:
    title, url = (
        unicodedata.normalize("NFC", " ".join(page.title.split())),
        plain_url(page.url),
    )
    key = page_key(page.title, page.url)
    name = key.partition("/wiki/")[2] or key
    for kind, source in (("quote", page.quote), ("summary", page.summary)):
        if source is not None and source.text.strip():
            digest = hashlib.blake2b(f"{key}\n{source.text}".encode(), digest_size=6).hexdigest()
            yield Passage(f"{name}#{digest}", source.text, title, url, {"kind": kind})


WIKIPEDIA = "ja.wikipedia.org/wiki/"

_NOT_PLAIN = re.compile(r"[\s\x00-\x1f\x7f-\x9f#?%]")
"""Characters that have another meaning in a URL or are invalid in an id, unless they are encoded."""


def plain_url(url: str) -> str:
    """Return a readable URL: its path percent-decoded and in NFC, unless that changes its meaning.

    >>> plain_url("https://ja.wikipedia.org/wiki/%E7%B5%8C%E6%B8%88#%E6%AD%B4%E5%8F%B2")
    'https://ja.wikipedia.org/wiki/経済#%E6%AD%B4%E5%8F%B2'
    >>> plain_url("https://ja.wikipedia.org/wiki/%E8%AA%B0%3F")
    'https://ja.wikipedia.org/wiki/誰%3F'
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # such as http://[
        return unicodedata.normalize("NFC", url.strip())
    return urlunsplit(parts._replace(path=_plain(parts.path)))


def page_key(title: str, url: str) -> str:
    """Return a page's key for comparisons: host and path, percent-decoded and in NFC, with underscores for blanks.

    The scheme, the mobile host, the fragment and the query are ignored, except for queries of URLs outside ``/wiki/``.
    Without a URL, the key is that of the page in the Japanese Wikipedia. Keys are case-sensitive, and redirects are not
    resolved.

    >>> page_key("", "http://ja.m.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC?oldid=1#x")
    'ja.wikipedia.org/wiki/東京'
    >>> page_key("東京 (曲)", "")
    'ja.wikipedia.org/wiki/東京_(曲)'
    """
    if not url.strip():
        return WIKIPEDIA + _plain(quote("_".join(title.split())))
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return plain_url(url)
    host = parts.netloc.lower().replace(".m.", ".")
    query = f"?{parts.query}" if parts.query and "/wiki/" not in parts.path else ""
    return f"{host}{_plain(parts.path).replace('%20', '_')}{query}"


def _plain(path: str) -> str:
    """Decode a percent-encoded path, except for characters with another meaning."""
    try:
        decoded = unquote(path, errors="strict")
    except UnicodeDecodeError:  # not UTF-8
        return path
    return _NOT_PLAIN.sub(lambda sign: quote(sign[0]), unicodedata.normalize("NFC", decoded))
