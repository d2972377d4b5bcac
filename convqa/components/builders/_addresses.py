"""Detection of URLs, e-mail addresses and hosts in generated text that no passage contains.

Hosts are recognized by their form, without a list of top-level domains, which changes every month.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# The characters of a host's label: all but white space and punctuation, because hosts exist in every script.
_LETTER = (
    r"[^\s\x00-,./:-@\[-^`{-\xbf\xd7\xf7\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2000-\u206f\u3000-\u3004\u3008-\u3020\u30fb]"
)
_LOCAL = rf"(?:{_LETTER}|[.+%]){{1,64}}"
_REST = r"[^\s<>\"'`\u201c-\u201f\u3001-\u3003\u3008-\u301f]"
_ADDRESS = re.compile(
    rf"(?<![a-z0-9])(?P<opaque>(?:data|javascript|vbscript|mailto|tel|sms|magnet|bitcoin):{_REST}+)"
    rf"|(?:(?<![a-z0-9+.-])(?P<scheme>[a-z][a-z0-9+.-]{{0,30}}):)?//(?P<url>{_REST}+)"
    rf"|(?<!{_LETTER})(?P<place>(?:{_LOCAL}@)?{_LETTER}+(?:\.{_LETTER}+)+(?::\d{{1,5}})?(?:[/?#]{_REST}*)?)",
    re.I,
)
_TRAILING = ".,;:!?/()[]{}*_~|"
"""Trailing punctuation that belongs to the surrounding text."""

# Scripts without spaces between words, and Korean, whose particles follow directly: there an address may be directly
# surrounded by letters of the sentence.
_UNSPACED = (
    r"[\u0e00-\u0eff\u1100-\u11ff\u2e80-\u2fff\u3005-\u3007\u3041-\u30fa\u30fc-\u31ff\u3400-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_SPACED_LETTER = rf"(?:(?!{_UNSPACED}){_LETTER})"
_TOP_LEVEL = re.compile(rf"xn--.+|(?:(?![\d_-]){_SPACED_LETTER}){{2,}}(?!{_SPACED_LETTER}(?<![_-]))", re.I)
"""The last label of a host: at least two letters, up to a hyphen or a letter of a script without spaces."""

_AFTER_HOST = re.compile(rf"(\.{_SPACED_LETTER}+)(?={_UNSPACED})")
_BEFORE_HOST = re.compile(rf"\A[^.@]*{_UNSPACED}(?!{_UNSPACED}|[.@]|\Z)")

_IDEOGRAPHIC_STOP = re.compile(r"(?<=[a-z0-9])\u3002(?=[a-z]{2})", re.I)
_WEB_PREFIX = re.compile(r"(?:(?<![a-z0-9+.-])https?:|(?<![:/]))//(?:www\.)?|\bwww\.", re.I)


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
    addresses = list(filter(None, map(_address, _ADDRESS.finditer(_plain(text)))))
    if not addresses:
        return False
    known = " ".join(_bare(_plain(passage)) for passage in passages)
    prose = _ADDRESS.sub(lambda match: " " if _address(match) else match[0], known)
    for address in addresses:
        if not _occurs(_bare(address), known) and not (_is_joint(address) and _is_prose(address, prose)):
            return True
    return False


def _plain(text: str) -> str:
    """Normalize a text as browsers do: full-width characters become ASCII, and invisible ones are removed.

    An address is separated from the text that follows it directly.
    """
    if text.isascii():
        return text
    normalized = unicodedata.normalize("NFKC", text)
    visible = "".join(letter for letter in normalized if unicodedata.category(letter) != "Cf")
    return _AFTER_HOST.sub(r"\1 ", _IDEOGRAPHIC_STOP.sub(".", visible))


def _bare(text: str) -> str:
    """Return a text in lower case, with its addresses without ``http:`` and ``www.``."""
    return _WEB_PREFIX.sub(" ", text).strip().lower()


def _occurs(address: str, text: str) -> bool:
    """Return whether a text contains an address that is not part of a longer dotted name."""
    before = rf"(?<!{_SPACED_LETTER})(?<!{_SPACED_LETTER}\.)"
    after = rf"(?!{_SPACED_LETTER}|\.{_SPACED_LETTER}|@)"
    return re.search(before + re.escape(address) + after, text) is not None


def _address(match: re.Match[str]) -> str:
    """Return the address that a match has, or ""."""
    written = match[0].rstrip(_TRAILING)
    if match["opaque"]:
        return written
    if match["url"]:
        return written if match["url"].rstrip(_TRAILING) else ""
    local, at, place = _BEFORE_HOST.sub("", written).rpartition("@")
    name = re.split("[:/?#]", place)[0]
    host = _host(name)
    return local + at + host + place[len(name) :] if host else ""


def _host(name: str) -> str:
    """Return the part of a dotted name that can be a host: an IPv4 address, or labels up to one of letters, or ""."""
    labels = name.split(".")
    if len(labels) == 4 and all(label.isdecimal() and int(label) < 256 for label in labels):
        return name
    while len(labels) > 1:
        last = _TOP_LEVEL.match(labels.pop())
        if last:
            return ".".join([*labels, last[0]])
    return ""


def _is_joint(address: str) -> bool:
    """Return whether an address looks like two sentences without a space, or like initials."""
    *before, last = address.split(".")
    if last[:1].isupper() and not last.isupper():
        return True
    return all(len(label) == 1 and label.isupper() for label in before)


def _is_prose(address: str, prose: str) -> bool:
    """Return whether the words of an address are numbers or words of a text."""
    for label in address.lower().split("."):
        if not label.isdecimal() and not re.search(rf"(?<!\w){re.escape(label)}(?!\w)", prose):
            return False
    return True
