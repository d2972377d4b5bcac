"""English tokens as in spaCy 3.8 (a blank English pipeline), without spaCy, for ShARC's evaluators.

The algorithm strips prefixes and suffixes from a chunk between blanks and splits the rest at infixes. The strings of a
table (contractions, abbreviations, smileys) are split by the table, even if they only appear after other splits. The
table and the character classes are spaCy's own data (spacy-en.json; MIT, see NOTICE), and a test compares the tokens
with spaCy's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

_LONGEST_SUFFIX = 20
"""Maximum number of characters, except for a row of full stops."""

_CHUNK = re.compile(r"\s+|\S+")


def spacy_english(text: str) -> list[str]:
    """Return the tokens of a text that are not blank.

    >>> spacy_english("Don't you live in the U.K. (or e.g. Jersey/Guernsey)?")
    ['Do', "n't", 'you', 'live', 'in', 'the', 'U.K.', '(', 'or', 'e.g.', 'Jersey', '/', 'Guernsey', ')', '?']
    """
    spans: list[tuple[int, int]] = []
    for chunk in _CHUNK.finditer(text):
        start = chunk.start()
        if start and text[start] == " ":  # a single blank after a token is not a token
            start += 1
        for token in _cut(text[start : chunk.end()], True):
            spans.append((start, start + len(token)))
            start += len(token)
    return [token for token in _rejoined(text, spans) if not token.isspace()]


class _SplitRules(NamedTuple):
    """The rules of splitting chunks. ``special`` is the table: string -> tokens."""

    special: Mapping[str, Sequence[str]]
    prefix: re.Pattern[str]
    suffix: re.Pattern[str]
    infix: re.Pattern[str]
    url: re.Pattern[str]


@lru_cache(20_000)
def _cut(chunk: str, by_table: bool) -> tuple[str, ...]:
    """Return the tokens of a chunk.

    :param by_table: whether the table applies.
    """
    rules = _rules()
    special: Mapping[str, Sequence[str]] = rules.special if by_table else {}
    before: list[str] = []
    after: list[str] = []
    size = -1
    while chunk and chunk not in special and len(chunk) != size:
        size = len(chunk)
        match = rules.prefix.match(chunk)
        start = match.end() if match else 0
        if chunk[start:] in special:
            before.append(chunk[:start])
            chunk = chunk[start:]
            break
        rest = chunk[start:]
        # Searches only the end: a chunk of thousands of brackets would take quadratic time.
        stops = len(rest.rstrip(".")) - 2
        match = rules.suffix.search(rest, max(0, min(len(rest) - _LONGEST_SUFFIX, stops)))
        end = len(chunk) - (match.end() - match.start()) if match else len(chunk)
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
    """Yield the tokens of the rest of a chunk: those of the table, one for a URL, else split at infixes."""
    rules = _rules()
    if chunk in special:
        yield from special[chunk]
        return
    start = 0
    for match in () if rules.url.match(chunk) else rules.infix.finditer(chunk):
        if match.start() == 0:
            continue
        if match.start() > start:
            yield chunk[start : match.start()]
        yield match[0]
        start = match.end()
    if chunk[start:]:
        yield chunk[start:]


def _rejoined(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the tokens at these spans. Runs of tokens that form a string of the table are split by the table, longer
    ones first.
    """
    texts = tuple(text[first:last] for first, last in spans)
    ends = _special_runs(texts)
    start = 0
    while start < len(spans):
        end = ends.get(start, start + 1)
        run: Sequence[str] = texts[start:end]
        if start in ends:
            run = _rules().special.get(text[spans[start][0] : spans[end - 1][1]], run)
        yield from run
        start = end


def _special_runs(texts: tuple[str, ...]) -> dict[int, int]:
    """Return start -> end of the runs of tokens into which strings of the table are split."""
    specials = _cut_specials()
    longest = max(map(len, specials))
    runs = [
        (start, end)
        for start in range(len(texts))
        for end in range(start + 1, min(start + longest, len(texts)) + 1)
        if texts[start:end] in specials
    ]
    taken: set[int] = set()
    kept = {}
    for start, end in sorted(runs, key=lambda run: (run[0] - run[1], run[0])):
        if start not in taken and end - 1 not in taken:
            kept[start] = end
        taken.update(range(start, end))
    return kept


@cache
def _cut_specials() -> frozenset[tuple[str, ...]]:
    """Return the tokens of the table's strings by the other rules, for strings that these rules split."""
    rules = _rules()
    split = (
        text
        for text in rules.special
        if " " in text or rules.prefix.match(text) or rules.suffix.search(text) or rules.infix.search(text)
    )
    return frozenset(_cut(text, False) for text in split)


@cache
def _rules() -> _SplitRules:
    data = json.loads(Path(__file__).with_name("spacy-en.json").read_text(encoding="utf-8"))
    letters, lower, upper, icons = (_class(data[name]) for name in ("letters", "lower", "upper", "icons"))
    quotes = re.escape("".join(data["quotes"]))
    marks = [
        *map(re.escape, data["punctuation"]),
        r"\.\.+",
        "…",
        *map(re.escape, data["quotes"]),
    ]
    units, currency, hyphens = ("|".join(map(re.escape, data[name])) for name in ("units", "currency", "hyphens"))
    closed = rf"0-9{lower}{quotes}{re.escape(''.join(data['punctuation']))}%²+|()?:\-"
    prefix = [
        r"[§%=\u2014\u2013]",
        r"\+(?![0-9])",
        *marks,
        currency,
        f"[{icons}]",
    ]
    suffix = [
        *marks,
        f"[{icons}]",
        r"['\u2019][sS]",
        r"[\u2014\u2013]",
        r"(?<=[0-9])\+",
        r"(?<=°[FfCcKk])\.",
        f"(?<=[0-9])(?:{currency})",
        f"(?<=[0-9])(?:{units})",
        rf"(?<=[{closed}])\.",
        rf"(?<=[{upper}]{{2}})\.",
    ]
    infix = [
        r"\.\.+",
        "…",
        f"[{icons}]",
        r"(?<=[0-9])[-+*^](?=[0-9-])",
        rf"(?<=[{lower}{quotes}])\.(?=[{upper}{quotes}])",
        f"(?<=[{letters}]),(?=[{letters}])",
        f"(?<=[{letters}0-9])(?:{hyphens})(?=[{letters}])",
        f"(?<=[{letters}0-9])[:<>=/](?=[{letters}])",
    ]
    return _SplitRules(
        data["special"],
        re.compile("|".join(prefix)),
        re.compile("|".join(f"(?:{pattern})$" for pattern in suffix)),
        re.compile("|".join(infix)),
        re.compile(_url(lower)),
    )


def _class(ranges: str) -> str:
    """Convert code points such as ``61-7a 101`` to the inside of a character class."""
    ends = (points.partition("-")[::2] for points in ranges.split())
    return "".join(rf"\U{int(first, 16):08x}" + (rf"-\U{int(last, 16):08x}" if last else "") for first, last in ends)


def _url(lower: str) -> str:
    """Return a pattern of URLs and mail addresses: [scheme://] [user[:password]@] host [:port] [path].

    The host is a public IPv4 address, or a name whose last part consists of lower-case letters.
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
