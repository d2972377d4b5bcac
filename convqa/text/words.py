"""Split text into words as Lucene's StandardTokenizer does (Unicode Standard Annex 29).

Two rules are left out because no question needs them: emoji and signs such as (R) are not words, and a double quote
does not join Hebrew letters. Compared with Lucene 9.12's EnglishAnalyzer, 99.4 % of the 27,065 passages of
benchmarks/lucene_equality.py get the same tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Letters are joined by . ' : and digits by . ' , ; and everything by _
_ASCII = re.compile(r"[a-z0-9_]+(?:[.':,;](?:(?<=[a-z][.':])(?=[a-z])|(?<=[0-9][.',;])(?=[0-9]))[a-z0-9_]+)*")

# Beyond ASCII each character is replaced by a sign of its Word_Break class (Unicode 12, as in Lucene 9), and words are
# found in the signs. The joiners omit U+202F, because engines split our tokens at white space.
_LETTER = "a"
_DIGIT = "0"
_MARK = "~"
_KATAKANA = "k"
_SINGLE = "1"
_JOINER = "_"
_MID_LETTER = ":"
_MID_NUMBER = ","
_MID_BOTH = "."
_OTHER = " "
_SIGNS = {
    _MID_LETTER: ":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a",
    _MID_NUMBER: ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b",
    _MID_BOTH: ".'\u2018\u2019\u2024\ufe52\uff07\uff0e",
    _JOINER: "_\u203f\u2040\u2054\ufe33\ufe34\ufe4d\ufe4e\ufe4f\uff3f",
}
_BLOCKS = {
    _KATAKANA: ((0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    _SINGLE: (
        (0x3005, 0x3007),
        (0x3041, 0x309F),
        (0x3400, 0x4DBF),
        (0x4E00, 0x9FFF),
        (0xF900, 0xFAFF),
        (0x20000, 0x3FFFF),
    ),
}
_ZERO_WIDTH_SPACE = "\u200b"
_IN_SIGNS = re.compile(r"[a0_][a0_~]*(?:[.:,](?:(?<=[a~][.:])(?=a)|(?<=[0~][.,])(?=0))[a0_][a0_~]*)*|k[k~]*|1~*")
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
        for match in _IN_SIGNS.finditer(chunk.translate(_SIGN_OF)):
            found.append(chunk[match.start() : match.end()])
    if "_" in lowered:
        # A word has more than joiners.
        found = [word for word in found if word.strip("_")]
    return found


def listed(words: str) -> frozenset[str]:
    """Return the words of a space-separated list as a set."""
    return frozenset(words.split())


def numerals(words: str, first: int, step: int = 1) -> dict[str, int]:
    """Return the number of each word of a space-separated list, which counts from ``first``.

    >>> numerals("twenty thirty", 20, 10)
    {'twenty': 20, 'thirty': 30}
    """
    return {word: first + step * index for index, word in enumerate(words.split())}


def cut(text: str, start: int, end: int, max_chars: int, *marks: re.Pattern[str]) -> Iterator[tuple[int, int]]:
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


class _SignOf(dict[int, str]):
    """The sign of each character's class, added when a text has the character."""

    def __missing__(self, code: int) -> str:
        sign = _sign(code)
        self[code] = sign
        return sign


def _sign(code: int) -> str:
    character = chr(code)
    for sign, characters in _SIGNS.items():
        if character in characters:
            return sign
    category = unicodedata.category(character)
    if (category[0] == "M" or category == "Cf") and character != _ZERO_WIDTH_SPACE:
        return _MARK
    for sign, blocks in _BLOCKS.items():
        if any(first <= code <= last for first, last in blocks):
            return sign
    if category == "Nd":
        return _DIGIT
    if category[0] == "L" or category == "Nl":
        return _LETTER
    return _OTHER


_SIGN_OF = _SignOf()
