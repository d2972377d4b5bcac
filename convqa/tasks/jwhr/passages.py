"""The collection that the data set brings: what its workers quoted from pages, and how they summed them up."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit, urlunsplit

from convqa.domain import Passage
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.schema import Entry, Page


def passages(path: Path) -> Iterator[Passage]:
    """The passages of the entries of a file, or of all files of a folder."""
    return passages_of(entry for _, entry in read_entries(path))


def passages_of(entries: Iterable[Entry]) -> Iterator[Passage]:
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


WIKIPEDIA = "ja.wikipedia.org/wiki/"

_NOT_PLAIN = re.compile(r"[\s\x00-\x1f\x7f-\x9f#?%]")
"""Characters that would be read as something else, or could stand in no id, if they were written plainly."""


def plain_url(url: str) -> str:
    """The address as people read it: its path percent-decoded and in NFC. What would change it stays encoded.

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
    """A page's name for comparisons: host and path, percent-decoded and in NFC, blanks as underscores.

    The scheme, the mobile host, the fragment (a place in the page) and the query (a version of it, a way to show it) do
    not say which page it is, but for ``index.php?title=``, which is the page of that title, and queries of addresses
    that name no page. Without an address it is the Japanese Wikipedia's page of that title. Upper and lower case count,
    and a redirect is another page than the one that it leads to: nothing is looked up.

    >>> page_key("", "http://ja.m.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC?oldid=1#x")
    'ja.wikipedia.org/wiki/東京'
    >>> page_key("", "https://ja.wikipedia.org/w/index.php?title=%E6%9D%B1%E4%BA%AC&action=edit")
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
    titles = parse_qs(parts.query).get("title", [])
    if "/wiki/" not in parts.path and titles:
        return f"{host}/wiki/{_plain(quote('_'.join(titles[0].split())))}"
    query = f"?{parts.query}" if parts.query and "/wiki/" not in parts.path else ""
    return f"{host}{_plain(parts.path).replace('%20', '_')}{query}"


def page_name(key: str) -> str:
    """The part of a page's key that people call it by.

    >>> page_name("ja.wikipedia.org/wiki/東京")
    '東京'
    """
    return key.partition("/wiki/")[2] or key


def _plain(path: str) -> str:
    """A percent-encoded path without its encoding, but where a character would be read as something else."""
    try:
        decoded = unquote(path, errors="strict")
    except UnicodeDecodeError:  # not UTF-8: nobody can say which characters are meant
        return path
    return _NOT_PLAIN.sub(lambda sign: quote(sign[0]), unicodedata.normalize("NFC", decoded))
