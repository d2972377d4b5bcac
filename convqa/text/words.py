"""Split text into words as Lucene's StandardTokenizer does (Unicode Standard Annex 29).

Two rules are left out because no question needs them: emoji and signs such as (R) are not words, and a double quote
does not join Hebrew letters. Compared with Lucene 9.12's EnglishAnalyzer, 99.4 % of the 27,065 passages of
benchmarks/lucene_equality.py get the same tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

Offsets = tuple[int, int]
"""Start and end of a part of a text, half-open, in code points."""

# Letters are joined by . ' : and digits by . ' , ; and everything by _
_ASCII = re.compile(r"[a-z0-9_]+(?:[.':,;](?:(?<=[a-z][.':])(?=[a-z])|(?<=[0-9][.',;])(?=[0-9]))[a-z0-9_]+)*")

# Beyond ASCII, by the classes of the property Word_Break. The joiners omit U+202F, because engines split our tokens at
# white space.
_KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_IDEOGRAPHS = r"\u3005-\u3007\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARK = r"[[\p{M}\p{Cf}]--\u200b]"
_LETTER = rf"[[\p{{L}}\p{{Nl}}]--[{_KATAKANA}{_IDEOGRAPHS}]--{_MARK}]"
_JOINED = rf"[{_LETTER}\p{{Nd}}_\u203f\u2040\u2054\ufe33\ufe34\ufe4d\ufe4e\ufe4f\uff3f]"
_MID_LETTER = r"[.'\u2018\u2019\u2024\ufe52\uff07\uff0e:\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a]"
_MID_NUMBER = (
    r"[.'\u2018\u2019\u2024\ufe52\uff07\uff0e,;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54"
    r"\uff0c\uff1b]"
)
_BETWEEN_LETTERS = rf"(?<=[{_LETTER}{_MARK}]{_MID_LETTER})(?={_LETTER})"
_BETWEEN_DIGITS = rf"(?<=[\p{{Nd}}{_MARK}]{_MID_NUMBER})(?=\p{{Nd}})"
_LONG = rf"{_JOINED}[{_JOINED}{_MARK}]*"
_WORD = regex.compile(
    rf"{_LONG}(?:[{_MID_LETTER}{_MID_NUMBER}](?:{_BETWEEN_LETTERS}|{_BETWEEN_DIGITS}){_LONG})*"
    rf"|[{_KATAKANA}][{_KATAKANA}{_MARK}]*|[[{_IDEOGRAPHS}]--{_MARK}]{_MARK}*",
    regex.VERSION1,
)
_LATIN_END = "\u0250"


def words(text: str) -> list[str]:
    """Return the lower-case words in order. Each ideograph and each hiragana is a word.

    >>> words("Don't e-mail U.S. firms 1,000.5 times: foo_bar, 東京タワー!")
    ["don't", 'e', 'mail', 'u.s', 'firms', '1,000.5', 'times', 'foo_bar', '東', '京', 'タワー']
    """
    # str.lower turns a dotted capital I into two characters, Lucene into one.
    lowered = text.replace("\u0130", "i").lower()
    found = []
    for chunk in [lowered] if lowered.isascii() else lowered.split():
        if chunk.isascii():
            found += _ASCII.findall(chunk)
            continue
        found += _WORD.findall(chunk)
    if "_" in lowered:
        # A word has more than joiners.
        found = [word for word in found if word.strip("_")]
    return found


def listed(words: str) -> frozenset[str]:
    """Return the words of a space-separated list as a set."""
    return frozenset(words.split())


def paired(pairs: str) -> dict[str, str]:
    """Return the mapping that a space-separated list of ``KEY:VALUE`` describes.

    >>> paired("men:man women:woman")
    {'men': 'man', 'women': 'woman'}
    """
    return dict(pair.split(":") for pair in pairs.split())


def numerals(words: str, first: int, step: int = 1) -> dict[str, int]:
    """Return the number of each word of a space-separated list, which counts from ``first``.

    >>> numerals("twenty thirty", 20, 10)
    {'twenty': 20, 'thirty': 30}
    """
    return {word: first + step * index for index, word in enumerate(words.split())}


def cut(
    text: str,
    start: int,
    end: int,
    max_chars: int,
    *marks: re.Pattern[str],
) -> Iterator[Offsets]:
    """Cut ``text[start:end]`` into spans of at most ``max_chars`` characters.

    A span ends after the last match of a mark in its second half, of the first mark that has one there, else anywhere.
    """
    while end - start > max_chars:
        half = start + max_chars // 2
        stop = start + max_chars
        for mark in marks:
            ends = [match.end() for match in mark.finditer(text, half, stop)]
            if ends:
                stop = ends[-1]
                break
        yield start, stop
        start = stop
    yield start, end


def latin(text: str) -> bool:
    """Return whether most letters of a text are Latin. True for a text without letters.

    >>> latin("Wo wurde er geboren?"), latin("1808?"), latin("\u4ed6\u5728\u54ea\u91cc")
    (True, True, False)
    """
    letters = [character for character in text if character.isalpha()]
    return not letters or 2 * sum(letter < _LATIN_END for letter in letters) > len(letters)
