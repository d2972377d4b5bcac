"""English tokens as spaCy 3.8 cuts them (a blank English pipeline), without spaCy: what ShARC's evaluators count.

The algorithm: a chunk between blanks loses prefixes and suffixes, and what is left is cut at infixes; strings of a
table (contractions, abbreviations, smileys) are cut as it says, also where they only come about once the rest is cut.
The table and the classes of characters are spaCy's own data (spacy-en.json; MIT, see NOTICE). A test holds, text for
text, that the tokens are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

_LONGEST_SUFFIX = 20
"""Characters; all but a row of full stops are shorter."""

_CHUNK = re.compile(r"\s+|\S+")


def spacy_english(text: str) -> list[str]:
    """The tokens of a text that are not blank, in order, as they are written.

    >>> spacy_english("Don't you live in the U.K. (or e.g. Jersey/Guernsey)?")
    ['Do', "n't", 'you', 'live', 'in', 'the', 'U.K.', '(', 'or', 'e.g.', 'Jersey', '/', 'Guernsey', ')', '?']
    """
    pieces: list[_Piece] = []
    for index, found in enumerate(_CHUNK.finditer(text)):
        chunk = found[0]
        if chunk[0] == " " and index:  # the blank that ends a token is no token
            pieces[-1] = pieces[-1]._replace(blank=True)
            chunk = chunk[1:]
        pieces += [_Piece(part) for part in _cut(chunk, True)]
    return [part for part in _mended(pieces) if not part.isspace()]


class _Piece(NamedTuple):
    """A token, and whether a blank follows it."""

    text: str
    blank: bool = False


class _Rules(NamedTuple):
    """How chunks are cut: ``special`` is the table, a string -> its tokens."""

    special: Mapping[str, Sequence[str]]
    prefix: re.Pattern[str]
    suffix: re.Pattern[str]
    infix: re.Pattern[str]
    url: re.Pattern[str]


@lru_cache(20_000)
def _cut(chunk: str, by_table: bool) -> tuple[str, ...]:
    """The tokens of a chunk.

    :param by_table: whether the strings of the table are cut as it says.
    """
    rules = _rules()
    special: Mapping[str, Sequence[str]] = rules.special if by_table else {}
    before: list[str] = []
    after: list[str] = []
    size = -1
    while chunk and chunk not in special and len(chunk) != size:
        size = len(chunk)
        found = rules.prefix.match(chunk)
        start = found.end() if found else 0
        if chunk[start:] in special:
            before.append(chunk[:start])
            chunk = chunk[start:]
            break
        rest = chunk[start:]
        # Looked for at the end only: a chunk of thousands of brackets would be gone through once for each.
        stops = len(rest.rstrip(".")) - 2
        found = rules.suffix.search(rest, max(0, min(len(rest) - _LONGEST_SUFFIX, stops)))
        end = len(chunk) - (found.end() - found.start()) if found else len(chunk)
        if chunk[:end] in special:
            after.append(chunk[end:])
            chunk = chunk[:end]
            break
        if start:
            before.append(chunk[:start])
        if end < len(chunk):
            after.append(chunk[end:])
        chunk = chunk[start:end]
    return (*before, *_middle(chunk, special), *reversed(after))


def _middle(chunk: str, special: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The tokens of the rest of a chunk: one if it is in the table, or an address; else it is cut at its infixes."""
    rules = _rules()
    if chunk in special:
        yield from special[chunk]
        return
    start = 0
    for found in () if rules.url.match(chunk) else rules.infix.finditer(chunk):
        if found.start() == 0:
            continue
        if found.start() > start:
            yield chunk[start : found.start()]
        yield found[0]
        start = found.end()
    if chunk[start:]:
        yield chunk[start:]


def _mended(pieces: Sequence[_Piece]) -> Iterator[str]:
    """The tokens, with those that together are a string of the table cut as it says; longer strings first."""
    found = _specials_in(pieces)
    place = 0
    while place < len(pieces):
        end = found.get(place, place)
        text = _text(pieces[place:end])
        if text in _rules().special:
            yield from _rules().special[text]
        else:
            yield from (piece.text for piece in pieces[place : max(end, place + 1)])
        place = max(end, place + 1)


def _specials_in(pieces: Sequence[_Piece]) -> dict[int, int]:
    """Start -> end of the runs of tokens that strings of the table are cut into."""
    wanted = _cut_specials()
    longest = max(map(len, wanted))
    texts = tuple(piece.text for piece in pieces)
    runs = [
        (start, end)
        for start in range(len(texts))
        for end in range(start + 1, min(start + longest, len(texts)) + 1)
        if texts[start:end] in wanted
    ]
    taken: set[int] = set()
    kept = {}
    for start, end in sorted(runs, key=lambda run: (run[0] - run[1], run[0])):
        if start not in taken and end - 1 not in taken:
            kept[start] = end
        taken.update(range(start, end))
    return kept


def _text(pieces: Sequence[_Piece]) -> str:
    """The tokens with the blanks between them; the one behind the last token is left out."""
    return "".join(piece.text + " " * piece.blank for piece in pieces[:-1]) + "".join(
        piece.text for piece in pieces[-1:]
    )


@cache
def _cut_specials() -> frozenset[tuple[str, ...]]:
    """The tokens of the table's strings by the other rules alone, for those that these rules touch."""
    rules = _rules()
    touched = (
        text
        for text in rules.special
        if " " in text or rules.prefix.match(text) or rules.suffix.search(text) or rules.infix.search(text)
    )
    return frozenset(_cut(text, False) for text in touched)


@cache
def _rules() -> _Rules:
    data = json.loads(Path(__file__).with_name("spacy-en.json").read_text(encoding="utf-8"))
    letters, lower, upper, icons = (_class(data[name]) for name in ("letters", "lower", "upper", "icons"))
    quotes = re.escape("".join(data["quotes"]))
    marks = [*map(re.escape, data["punctuation"]), r"\.\.+", "…", *map(re.escape, data["quotes"])]
    units, currency, hyphens = ("|".join(map(re.escape, data[name])) for name in ("units", "currency", "hyphens"))
    closed = rf"0-9{lower}{quotes}{re.escape(''.join(data['punctuation']))}%²+|()?:\-"
    prefix = [r"[§%=\u2014\u2013]", r"\+(?![0-9])", *marks, currency, f"[{icons}]"]
    suffix = [
        *marks, f"[{icons}]", r"['\u2019][sS]", r"[\u2014\u2013]", r"(?<=[0-9])\+", r"(?<=°[FfCcKk])\.",
        f"(?<=[0-9])(?:{currency})", f"(?<=[0-9])(?:{units})", rf"(?<=[{closed}])\.", rf"(?<=[{upper}]{{2}})\.",
    ]  # fmt: skip
    infix = [
        r"\.\.+", "…", f"[{icons}]", r"(?<=[0-9])[-+*^](?=[0-9-])", rf"(?<=[{lower}{quotes}])\.(?=[{upper}{quotes}])",
        f"(?<=[{letters}]),(?=[{letters}])", f"(?<=[{letters}0-9])(?:{hyphens})(?=[{letters}])",
        f"(?<=[{letters}0-9])[:<>=/](?=[{letters}])",
    ]  # fmt: skip
    return _Rules(
        data["special"],
        re.compile("|".join(prefix)),
        re.compile("|".join(f"(?:{one})$" for one in suffix)),
        re.compile("|".join(infix)),
        re.compile(_url(lower)),
    )


def _class(ranges: str) -> str:
    """The inside of a regular expression's brackets for code points such as ``61-7a 101``."""
    ends = (points.partition("-")[::2] for points in ranges.split())
    return "".join(rf"\U{int(first, 16):08x}" + (rf"-\U{int(last, 16):08x}" if last else "") for first, last in ends)


def _url(lower: str) -> str:
    """Addresses of the web and of mail: [scheme://] [user[:password]@] host [:port] [path].

    The host is a public IPv4 address, or a name whose last part is of lower-case letters.
    """
    letter = r"A-Za-z0-9\u00a1-\uffff"
    private = r"(?!(?:10|127)(?:\.\d{1,3}){3}|(?:169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2})"
    first, inner, last = (
        r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])",
        r"(?:1?\d{1,2}|2[0-4]\d|25[0-5])",
        r"(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])",
    )
    number = rf"{private}{first}(?:\.{inner}){{2}}\.{last}"
    name = rf"(?:(?:[{letter}][{letter}_-]{{0,62}})?[{letter}]\.)+[{lower}]{{2,63}}"
    return rf"^(?:[\w+.-]{{2,}}://)?(?:\S+(?::\S*)?@)?(?:{number}|{name})(?::\d{{2,5}})?(?:[/?#]\S*)?$"
