"""Detection of URLs, e-mail addresses and hosts in generated text that no passage contains.

Hosts are recognized by their form, without a list of top-level domains, which changes every month.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# The characters of a host's label: all but white space and punctuation, because hosts exist in every script.
_LETTER = (
    r"[^\s\x00-,./:-@\[-^`{-\xbf\xd7\xf7\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2000-\u206f\u3000-\u3004\u3008-\u3020\u30fb]"
)
_LOCAL = rf"(?:{_LETTER}|[.+%]){{1,64}}"
_REST = r"[^\s<>\"'`\u201c-\u201f\u3001-\u3003\u3008-\u301f]"
_FOUND = re.compile(
    rf"(?<![a-z0-9])(?P<opaque>(?:data|javascript|vbscript|mailto|tel|sms|magnet|bitcoin):{_REST}+)"
    rf"|(?:(?<![a-z0-9+.-])(?P<scheme>[a-z][a-z0-9+.-]{{0,30}}):)?//(?P<url>{_REST}+)"
    rf"|(?<!{_LETTER})(?P<place>(?:{_LOCAL}@)?{_LETTER}+(?:\.{_LETTER}+)+(?::\d{{1,5}})?(?:[/?#]{_REST}*)?)",
    re.I,
)
_PLACE = re.compile(
    rf"(?:(?P<local>{_LOCAL})@)?(?P<host>{_LETTER}+(?:\.{_LETTER}+)*)(?P<rest>(?::\d{{1,5}})?(?:[/?#].*)?)"
)
_WORD = re.compile(rf"{_LETTER}+")
_BEHIND = ".,;:!?/()[]{}*_~|"
"""Trailing punctuation that belongs to the surrounding text."""

# Scripts without spaces between words, and Korean, whose particles follow directly: there an address may be directly
# surrounded by letters of the sentence.
_UNSPACED = (
    r"[\u0e00-\u0eff\u1100-\u11ff\u2e80-\u2fff\u3005-\u3007\u3041-\u30fa\u30fc-\u31ff\u3400-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_BEHIND_HOST = re.compile(rf"(\.(?:(?!{_UNSPACED}){_LETTER})+)(?={_UNSPACED})")
_BEFORE = re.compile(rf"\A[^.@]*{_UNSPACED}(?!{_UNSPACED}|[.@]|\Z)")
_UNSPACED_RUN = re.compile(rf"{_UNSPACED}+")
_LONGEST_UNSPACED = 6
"""Maximum letters of a top-level domain in such a script; a longer run is the next sentence."""

_IDEOGRAPHIC_STOP = re.compile(r"(?<=[a-z0-9])\u3002(?=[a-z]{2})", re.I)


class Address(NamedTuple):
    """An address for comparison, in lower case and without ``http:`` and ``www.``: the ``whole`` and its ``host``.

    ``joint``: its labels, if it may also be two sentences without a space between them (``Faust.Goethe``).
    """

    whole: str
    host: str
    joint: Sequence[str] = ()


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
    addresses = _addresses(_plain(text))
    if not addresses:
        return False
    plain = [_plain(passage) for passage in passages]
    known = [address for passage in plain for address in _addresses(passage)]
    wholes, hosts = {address.whole for address in known}, {address.host for address in known}
    prose = _FOUND.sub(lambda match: " " if _address(match) else match[0], " ".join(plain)).lower()
    words = {part for word in _WORD.findall(prose) for part in (word, *word.split("-"))}

    def is_prose(label: str) -> bool:
        return label.isdecimal() or label in words or bool(_UNSPACED_RUN.fullmatch(label) and label in prose)

    return not all(
        address.whole in wholes
        or (address.whole == address.host and address.host in hosts)
        or (address.joint and all(map(is_prose, address.joint)))
        for address in addresses
    )


def _plain(text: str) -> str:
    """Normalize a text as browsers do: full-width characters become ASCII, and invisible ones are removed.

    An address is separated from the text that follows it directly.
    """
    if text.isascii():
        return text
    visible = (letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf")
    return _BEHIND_HOST.sub(r"\1 ", _IDEOGRAPHIC_STOP.sub(".", "".join(visible)))


def _addresses(text: str) -> list[Address]:
    return [address for match in _FOUND.finditer(text) if (address := _address(match))]


def _address(match: re.Match[str]) -> Address | None:
    if match["opaque"]:
        return Address(match["opaque"].rstrip(_BEHIND).lower(), "")
    written = (match["url"] or match["place"]).rstrip(_BEHIND)
    parts = _PLACE.fullmatch(written)
    if parts is None:
        return Address(written.lower(), "") if written else None
    name = _host(_BEFORE.sub("", parts["host"]))
    if not name and match["place"]:
        return None
    name = name or parts["host"]
    host = name.lower().removeprefix("www.")
    local = _BEFORE.sub("", parts["local"]) + "@" if parts["local"] else ""
    rest = _UNSPACED_RUN.split(parts["rest"])[0].rstrip(_BEHIND)
    whole = f"{local}{host}{rest}".lower()
    if match["url"]:
        scheme = (match["scheme"] or "").lower()
        return Address(whole, host) if scheme in {"", "http", "https"} else Address(f"{scheme}://{whole}", "")
    return Address(whole, host, _joint(name) if whole == name.lower() else ())


def _host(name: str) -> str:
    """Return the part of a dotted name that can be a host: an IPv4 address, or labels up to one of letters, or ""."""
    labels = name.split(".")
    if len(labels) == 4 and all(label.isdecimal() and int(label) < 256 for label in labels):
        return name
    while len(labels) > 1:
        if ending := _top_level(labels[-1]):
            return ".".join([*labels[:-1], ending])
        labels.pop()
    return ""


def _top_level(label: str) -> str:
    """Return the part of a last label that can be a top-level domain: at least two letters, up to a hyphen, or ""."""
    if label[:4].lower() == "xn--":
        return label
    start = re.split("[-_]", label)[0]
    if _UNSPACED_RUN.match(start) and len(start) > _LONGEST_UNSPACED:
        return ""
    letters = len(start) > 1 and all(unicodedata.category(letter)[0] in "LM" for letter in start)
    return start if letters else ""


def _joint(name: str) -> Sequence[str]:
    """Return the labels of a name that looks like two sentences without a space, or like initials."""
    *before, last = name.split(".")
    capitalised = last[:1].isupper() and not last.isupper()
    initials = all(len(label) == 1 and label.isupper() for label in before)
    without_capitals = last.isalpha() and last.lower() == last.upper()
    return name.lower().split(".") if capitalised or initials or without_capitals else ()
