"""Japanese: words by Sudachi, and boundaries of sentences that hold others in brackets.

Words are Sudachi's short units, as search wants them, each brought to its one way of writing it. They need the extra
``ja``. Why this library and this dictionary: docs/dependencies.md.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from convqa.errors import InputError

LONGEST_PIECE = 1000
"""Characters that Sudachi is given at once. It takes 49,149 bytes, and 65,535 once they are in NFKC, by which a
character of 3 bytes may grow to 33."""

_DICTIONARY = "small"
_END = re.compile(r"[\s\u3002\uff01\uff1f\uff0e]+")
_PAUSE = re.compile(r"[\u3001\uff0c\u30fb\uff09\u300d\u300f]")

# Without Sudachi's third plugin, which makes one word of a name and its reading in brackets.
_PLUGINS = [
    {"class": "com.worksap.nlp.sudachi.DefaultInputTextPlugin"},
    {
        "class": "com.worksap.nlp.sudachi.ProlongedSoundMarkPlugin",
        "prolongedSoundMarks": ["\u30fc", "-", "\u2053", "\u301c", "\u3030"],
        "replacementSymbol": "\u30fc",
    },
]


class Sudachi:
    """Cuts texts, in as many threads as there are: each gets a tokenizer of its own over the one dictionary.

    :raises InputError: where the extra ``ja`` is not installed.
    """

    def __init__(self) -> None:
        try:
            from sudachipy import Config, Dictionary

            self._dictionary: Any = Dictionary(config=Config(system=_DICTIONARY, inputTextPlugin=_PLUGINS))
            self.version = version(f"sudachidict-{_DICTIONARY}")
        except ImportError as error:
            raise InputError(
                "language 'ja' needs the packages sudachipy and sudachidict-small. Install the extra ja: "
                "pip install 'convqa[ja]'"
            ) from error
        self._own = threading.local()

    def words(self, text: str) -> list[str]:
        """Lower-case words as they are written, in order; signs are left out.

        >>> Sudachi().words("東京タワーは、1958年12月に完成した。Tokyo Tower")
        ['東京', 'タワー', 'は', '1958', '年', '12', '月', 'に', '完成', 'し', 'た', 'tokyo', 'tower']
        """
        # Lower case in Python makes two characters of a dotted capital I.
        lowered = text.replace("\u0130", "i").lower()
        tokenizer, found = self._tokenizer(), []
        for piece in pieces(lowered):
            for morpheme in tokenizer.tokenize(_speakable(piece)):
                # What a sign such as ㍿ stands for is several morphemes, of which only the first has a place.
                word = piece[morpheme.begin() : morpheme.end()]
                if word.isalnum():
                    found.append(word)
                else:
                    found += [part for part in word.split() if _says_something(part)]
        return found

    def stem(self, word: str) -> str:
        """The one form under which a word is searched, whatever stands beside it.

        >>> [Sudachi().stem(word) for word in ("打込ん", "打ち込む", "シュミレーション", "二〇")]
        ['打ち込む', '打ち込む', 'シミュレーション', '20']
        """
        if len(word) > LONGEST_PIECE:
            return word
        form, speakable = unicodedata.normalize("NFKC", word), _speakable(word)
        found = self._tokenizer().tokenize(speakable)
        if len(found) == 1:
            form = found[0].normalized_form()
        if len(found) != 1 or found[0].is_oov():
            # A form that does not stand alone in Japanese may be in the dictionary all the same.
            entries = self._dictionary.lookup(speakable)
            form = entries[0].normalized_form() if len(entries) else form
        return "".join(str(form).lower().split())

    def _tokenizer(self) -> Any:
        tokenizer = getattr(self._own, "tokenizer", None)
        if tokenizer is None:
            tokenizer = self._own.tokenizer = self._dictionary.tokenizer("A")
        return tokenizer


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of at most ``LONGEST_PIECE`` characters.

    Each but the last is cut behind a sentence if one ends in its second half, else behind a comma or a bracket, else
    anywhere.

    >>> [len(piece) for piece in pieces("犬" * 600 + "。" + "猫" * 1500)]
    [601, 1000, 500]
    """
    start = 0
    while len(text) - start > LONGEST_PIECE:
        half, last = start + LONGEST_PIECE // 2, start + LONGEST_PIECE
        ends = [found.end() for found in _END.finditer(text, half, last)]
        ends = ends or [found.end() for found in _PAUSE.finditer(text, half, last)]
        middle = ends[-1] if ends else last
        yield text[start:middle]
        start = middle
    yield text[start:]


def _says_something(word: str) -> bool:
    """Whether a word has a letter or a digit, if only in what a sign such as ㎏ or ① stands for."""
    return any(map(str.isalnum, unicodedata.normalize("NFKC", word)))


def _speakable(text: str) -> str:
    """Sudachi speaks UTF-8; a lone surrogate becomes one "?", so that offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")


FARTHEST = 400
"""Characters from a bracket to the one that closes it: farther off, one of them was forgotten."""

_OPENING_BRACKETS = "\u300c\u300e\uff08\u3010\u3008\u300a\u3014\uff3b"
_CLOSING_BRACKETS = "\u300d\u300f\uff09\u3011\u3009\u300b\u3015\uff3d"
_BRACKET = re.compile(f"[{_OPENING_BRACKETS}{_CLOSING_BRACKETS}\n]")
_NESTED = 8
"""How deep a closing bracket looks for its partner, so that a million brackets cost nothing."""

_NUMBERED = re.compile(r"[\u3002\uff01\uff1f](?=\d)")

_LEFT_OVER = re.compile(f"\\s{{0,20}}[{_CLOSING_BRACKETS}\u3001\u3002\uff0c\uff0e]")
"""Signs with which no sentence begins."""

# Particles and what leans on a quotation, but not as the beginning of a word that opens sentences (ところが, はじめに).
_LEANS = re.compile(
    "って|など|を|だ(?!が|から|って|け)|から(?!だ)|まで(?!も)|と(?!ころ|もかく|もあれ|はいえ|にかく|りわけ|くに|ても|ある|き)|の(?!ち|んびり)"
    "|が(?!っ|ん)|は(?!い|じ|る|た|な|や)|に(?!も|ほ|わ|ぎ|っ|こ)|で(?!も|は|すから|きれ)|も(?!し|う|ち|っ|の|は|と)|や(?!が|っ|は|り|め)"
)


def joined(text: str, boundaries: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """sentencex's boundaries put right.

    Without those inside brackets, before a closing one, or between a quotation and its particle; and with those between
    a full stop and a number, where it sees a decimal point.

    >>> joined("彼は「行く。」と言った。2年後。", [(0, 7), (7, 16)])
    [(0, 12), (12, 16)]
    """
    spans = sorted(_bracketed(text))
    starts = [start for start, _ in spans]
    reach = 0
    farthest = [reach := max(reach, end) for _, end in spans]
    found: list[int] = []
    for place in sorted({*(start for start, _ in boundaries), *(stop.end() for stop in _NUMBERED.finditer(text))}):
        before = bisect_left(starts, place)
        inside = before > 0 and place <= farthest[before - 1]
        leans = text[place - 1] in _CLOSING_BRACKETS and _LEANS.match(text, place)
        if not found or not (inside or leans or _LEFT_OVER.match(text, place)):
            found.append(place)
    return list(pairwise([*found, boundaries[-1][1]])) if boundaries else []


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    """Places of brackets and of those that close them, on one line."""
    opened: list[tuple[str, int]] = []
    for match in _BRACKET.finditer(text):
        sign = match.group()
        if sign == "\n":
            opened.clear()
        elif sign in _OPENING_BRACKETS:
            opened.append((_CLOSING_BRACKETS[_OPENING_BRACKETS.index(sign)], match.start()))
        else:
            partners = [place for place, (wanted, _) in enumerate(opened[-_NESTED:]) if wanted == sign]
            if partners:
                start = opened[-_NESTED:][partners[-1]][1]
                del opened[len(opened) - len(opened[-_NESTED:]) + partners[-1] :]
                if match.start() - start <= FARTHEST:
                    yield start, match.start()
