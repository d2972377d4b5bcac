"""Remove URLs, e-mail addresses and hosts from what a model wrote, unless a passage has them.

There is no list of top-level domains, as new ones come every month: a dotted name counts as a host by its form.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# What a label of a host is made of: everything but blanks and punctuation, as there are hosts in every script.
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
"""Signs at an address's end that belong to the text around it."""

# Writing without blanks between words, and Korean, whose particles follow without one: there letters of the sentence
# stand directly before and behind an address.
_UNSPACED = (
    r"[\u0e00-\u0eff\u1100-\u11ff\u2e80-\u2fff\u3005-\u3007\u3041-\u30fa\u30fc-\u31ff\u3400-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_BEHIND_HOST = re.compile(rf"(\.(?:(?!{_UNSPACED}){_LETTER})+)(?={_UNSPACED})")
_BEFORE = re.compile(rf"\A[^.@]*{_UNSPACED}(?!{_UNSPACED}|[.@]|\Z)")
_UNSPACED_RUN = re.compile(rf"{_UNSPACED}+")
_LONGEST_UNSPACED = 6
"""Letters that a top-level domain has in such a script; what is longer is the next sentence."""

_IDEOGRAPHIC_STOP = re.compile(r"(?<=[a-z0-9])\u3002(?=[a-z]{2})", re.I)


class Address(NamedTuple):
    """``whole``: what is compared, in lower case, without ``http:`` and ``www.``; ``host``: the same of its host.

    ``joint``: the labels, where this may as well be two sentences without a blank between them (``Faust.Goethe``).
    """

    whole: str
    host: str
    joint: Sequence[str] = ()


def foreign(text: str, passages: Iterable[str]) -> bool:
    """Whether a text has an address that none of these texts has.

    They have it if it stands there as a whole, or is the host of one. Two words with a full stop between them are
    prose, not a host, where the passages have both, and the second is capitalised or the first one letter.

    >>> passages = ["Faust is a play. Goethe wrote it, says https://goethe.example/faust, with Node.js."]
    >>> [foreign(text, passages) for text in ("See faust.shop.", "See goethe.example/x.", "See oethe.example.")]
    [True, True, True]
    >>> [foreign(text, passages) for text in ("See goethe.example.", "He, e.g. in Node.js 3.5m.", "A play.Goethe.")]
    [False, False, False]
    """
    said = _addresses(_plain(text))
    if not said:
        return False
    plain = [_plain(passage) for passage in passages]
    known = [address for passage in plain for address in _addresses(passage)]
    wholes, hosts = {address.whole for address in known}, {address.host for address in known}
    prose = _FOUND.sub(lambda found: " " if _address(found) else found[0], " ".join(plain)).lower()
    words = {part for word in _WORD.findall(prose) for part in (word, *word.split("-"))}

    def is_prose(label: str) -> bool:
        return label.isdecimal() or label in words or bool(_UNSPACED_RUN.fullmatch(label) and label in prose)

    return not all(
        address.whole in wholes
        or (address.whole == address.host and address.host in hosts)
        or (address.joint and all(map(is_prose, address.joint)))
        for address in said
    )


def _plain(text: str) -> str:
    """The text as a browser reads an address in it: full-width letters and dots as others, nothing invisible.

    What follows an address without a blank is parted from it.
    """
    if text.isascii():
        return text
    shown = (letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf")
    return _BEHIND_HOST.sub(r"\1 ", _IDEOGRAPHIC_STOP.sub(".", "".join(shown)))


def _addresses(text: str) -> list[Address]:
    return [address for found in _FOUND.finditer(text) if (address := _address(found))]


def _address(found: re.Match[str]) -> Address | None:
    if found["opaque"]:
        return Address(found["opaque"].rstrip(_BEHIND).lower(), "")
    written = (found["url"] or found["place"]).rstrip(_BEHIND)
    place = _PLACE.fullmatch(written)
    if place is None:
        return Address(written.lower(), "") if written else None
    name = _host(_BEFORE.sub("", place["host"]))
    if not name and found["place"]:
        return None
    name = name or place["host"]
    host = name.lower().removeprefix("www.")
    local = _BEFORE.sub("", place["local"]) + "@" if place["local"] else ""
    rest = _UNSPACED_RUN.split(place["rest"])[0].rstrip(_BEHIND)
    whole = f"{local}{host}{rest}".lower()
    if found["url"]:
        scheme = (found["scheme"] or "").lower()
        return Address(whole, host) if scheme in {"", "http", "https"} else Address(f"{scheme}://{whole}", "")
    return Address(whole, host, _joint(name) if whole == name.lower() else ())


def _host(name: str) -> str:
    """The part of a dotted name that can be a host: four numbers, or one that ends with a label of letters; or ""."""
    labels = name.split(".")
    if len(labels) == 4 and all(label.isdecimal() and int(label) < 256 for label in labels):
        return name
    while len(labels) > 1:
        if ending := _top_level(labels[-1]):
            return ".".join([*labels[:-1], ending])
        labels.pop()
    return ""


def _top_level(label: str) -> str:
    """The part of a last label that can be a top-level domain: two letters and more, up to a hyphen."""
    if label[:4].lower() == "xn--":
        return label
    start = re.split("[-_]", label)[0]
    if _UNSPACED_RUN.match(start) and len(start) > _LONGEST_UNSPACED:
        return ""
    letters = len(start) > 1 and all(unicodedata.category(letter)[0] in "LM" for letter in start)
    return start if letters else ""


def _joint(name: str) -> Sequence[str]:
    """The labels of a name that has the form of an end of a sentence with the next one's beginning, or of initials."""
    *before, last = name.split(".")
    capitalised = last[:1].isupper() and not last.isupper()
    initials = all(len(label) == 1 and label.isupper() for label in before)
    without_capitals = last.isalpha() and last.lower() == last.upper()
    return name.lower().split(".") if capitalised or initials or without_capitals else ()
