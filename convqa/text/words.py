"""Split text into words as Lucene's StandardTokenizer does (Unicode Standard Annex 29).

Two rules are left out because no question needs them: emoji and signs such as (R) are not words, and a double quote
does not join Hebrew letters. Compared with Lucene 9.12's EnglishAnalyzer, 99.4 % of the 27,065 passages of
benchmarks/lucene_equality.py get the same tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

# Letters are joined by . ' : and digits by . ' , ; and everything by _
_ASCII = re.compile(r"[a-z0-9_]+(?:[.':,;](?:(?<=[a-z][.':])(?=[a-z])|(?<=[0-9][.',;])(?=[0-9]))[a-z0-9_]+)*")

# Word_Break classes of Unicode 12, as in Lucene 9. The joiners omit U+202F, because engines split our tokens at white
# space.
_MID_LETTER = r":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a"
_MID_NUMBER = r",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
_MID_BOTH = r".'\u2018\u2019\u2024\ufe52\uff07\uff0e"
_JOINERS = r"_\u203f\u2040\u2054\ufe33\ufe34\ufe4d-\ufe4f\uff3f"
_KATAKANA = ((0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))
_SINGLE = ((0x3005, 0x3007), (0x3041, 0x309F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_ZERO_WIDTH_SPACE = 0x200B

# Western European letters and general punctuation, which suffice for most texts.
_WESTERN_END, _PUNCTUATION = 0x250, range(0x2000, 0x2070)
_NOT_WESTERN = re.compile(r"[^\x00-\u024f\u2000-\u206f]")


def words(text: str) -> list[str]:
    """Return the lower-case words in order. Each ideograph and each hiragana is a word.

    >>> words("Don't e-mail U.S. firms 1,000.5 times: foo_bar, 東京タワー!")
    ["don't", 'e', 'mail', 'u.s', 'firms', '1,000.5', 'times', 'foo_bar', '東', '京', 'タワー']
    """
    # str.lower turns a dotted capital I into two characters, Lucene into one.
    lowered = text.replace("\u0130", "i").lower()
    if lowered.isascii():
        words = _ASCII.findall(lowered)
    else:
        words = []
        for chunk in lowered.split():
            pattern = _ASCII if chunk.isascii() else _unicode(western=not _NOT_WESTERN.search(chunk))
            words += pattern.findall(chunk)
    return [word for word in words if word.strip("_")] if "_" in lowered else words


def listed(words: str) -> frozenset[str]:
    """Return the words of a space-separated list as a set."""
    return frozenset(words.split())


def cut(text: str, start: int, end: int, longest: int, *marks: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Cut ``text[start:end]`` into spans of at most ``longest`` characters.

    A span ends after the last match of a mark in its second half, of the first mark that has one there, else anywhere.
    """
    while end - start > longest:
        half, stop = start + longest // 2, start + longest
        for mark in marks:
            if ends := [match.end() for match in mark.finditer(text, half, stop)]:
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
    return not letters or 2 * sum(letter < chr(_WESTERN_END) for letter in letters) > len(letters)


@cache
def _unicode(western: bool) -> re.Pattern[str]:
    """Build the pattern beyond ASCII on first use: about 100 ms for all of Unicode, 15 ms for Western text."""
    letters, digits, marks = _classes([*range(_WESTERN_END), *_PUNCTUATION] if western else range(0x20000))
    joined = f"[{letters}{digits}{_JOINERS}][{letters}{digits}{_JOINERS}{marks}]*"
    letter_mid, digit_mid = f"{_MID_BOTH}{_MID_LETTER}", f"{_MID_BOTH}{_MID_NUMBER}"
    between_letters = f"(?<=[{letters}{marks}][{letter_mid}])(?=[{letters}])"
    between_digits = f"(?<=[{digits}{marks}][{digit_mid}])(?=[{digits}])"
    mid = f"[{_MID_BOTH}{_MID_LETTER}{_MID_NUMBER}](?:{between_letters}|{between_digits})"
    katakana = _ranges(_KATAKANA)
    return re.compile(f"{joined}(?:{mid}{joined})*|[{katakana}][{katakana}{marks}]*|[{_ranges(_SINGLE)}][{marks}]*")


def _classes(codes: Iterable[int]) -> tuple[str, str, str]:
    """Return letters, decimal digits and combining marks as character classes."""
    letters, digits, marks = [], [], []
    excluded = {code for first, last in (*_KATAKANA, *_SINGLE) for code in range(first, min(last, 0x1FFFF) + 1)}
    for code in codes:
        category = unicodedata.category(chr(code))
        if category[0] == "M" or category == "Cf":
            if code != _ZERO_WIDTH_SPACE:
                marks.append(code)
        elif code in excluded:
            continue
        elif category == "Nd":
            digits.append(code)
        elif category[0] == "L" or category == "Nl":
            letters.append(code)
    return _ranges(_runs(letters)), _ranges(_runs(digits)), _ranges([*_runs(marks), (0xE0100, 0xE01EF)])


def _runs(codes: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _ranges(runs: Iterable[tuple[int, int]]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in runs)
