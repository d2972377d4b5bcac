"""Detection of URLs, e-mail addresses and hosts in generated text that no passage contains.

Hosts are recognized by their form, without a list of top-level domains, which changes every month: dotted words that
end with one of letters. Labels of Chinese, Japanese and Korean characters are not recognized, because these scripts
have no spaces between words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

from convqa.text.words import words as split_words

_LABEL = r"[^\W_\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]"
_REST = r"[^\s<>\"'`\u201c-\u201f\u3001-\u3003\u3008-\u301f]"
_ADDRESS = re.compile(
    rf"(?<![a-z0-9])(?:data|javascript|vbscript|mailto|tel|sms):{_REST}+"
    rf"|(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{{0,30}}:)?//{_REST}+"
    rf"|(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?!\w|\.\d)(?:[:/]{_REST}*)?"
    rf"|(?<!{_LABEL})(?:[\w.+%]{{1,64}}@)?(?:{_LABEL}(?:{_LABEL}|-){{0,62}}\.){{1,8}}(?:(?!\d){_LABEL}){{2,63}}(?![a-z0-9_])"
    rf"(?::\d{{1,5}})?(?:/{_REST}*)?",
    re.I,
)
_TRAILING = ".,;:!?/()[]{}*_~|"
"""Trailing punctuation that belongs to the surrounding text."""

_WEB_PREFIX = re.compile(r"\A(?:https?:)?(?://)?(?:www\.)?", re.I)


def foreign(text: str, passages: Iterable[str]) -> bool:
    """Return whether a text contains an address that no passage contains, as a whole or as the host of another.

    Two words with a full stop between them are prose, not a host, if the passages contain both, and the second is
    capitalized or the first is one letter.

    >>> passages = ["Faust is a play. Goethe wrote it, says https://goethe.example/faust, with Node.js."]
    >>> [foreign(text, passages) for text in ("See faust.shop.", "See goethe.example/x.", "See oethe.example.")]
    [True, True, True]
    >>> [foreign(text, passages) for text in ("See goethe.example.", "He, e.g. in Node.js 3.5m.", "A play.Goethe.")]
    [False, False, False]
    """
    addresses = _ADDRESS.findall(_plain(text))
    if not addresses:
        return False
    known: set[str] = set()
    words: set[str] = set()
    for passage in map(_plain, passages):
        for address in _ADDRESS.findall(passage):
            known |= {_bare(address), _host(address)}
        words.update(split_words(_ADDRESS.sub(" ", passage)))
    return any(_bare(address) not in known and not _is_prose(address, words) for address in addresses)


def _plain(text: str) -> str:
    """Normalize a text as browsers do: full-width characters become ASCII, and invisible ones are removed."""
    normalized = unicodedata.normalize("NFKC", text)
    return "".join(letter for letter in normalized if unicodedata.category(letter) != "Cf")


def _bare(address: str) -> str:
    """Return an address in lower case, without ``http:``, ``www.`` and trailing punctuation."""
    return _WEB_PREFIX.sub("", address.rstrip(_TRAILING)).lower()


def _host(address: str) -> str:
    return re.split("[:/?#]", _bare(address))[0].rpartition("@")[2]


def _is_prose(address: str, words: Collection[str]) -> bool:
    """Return whether an address looks like two sentences without a space, or like initials, of words of a text."""
    labels = address.split(".")
    is_joint = labels[-1].istitle() or (len(labels[0]) == 1 and labels[0].isalpha())
    return is_joint and all(label.isdecimal() or label in words for label in address.lower().split("."))
