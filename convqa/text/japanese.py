"""Japanese: words by Sudachi, and sentence boundaries that respect brackets.

Words are Sudachi's short units, each in its normalized form. They need the extra ``ja``. See docs/dependencies.md for
the choice of library and dictionary.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from convqa.errors import InputError
from convqa.text.analysis import Analyzer, shipped_stopwords
from convqa.text.words import Offsets, cut

MAX_PIECE_CHARS = 1000
"""Maximum characters per call of Sudachi, which takes 49,149 bytes, or 65,535 in NFKC, where a character of 3 bytes may
grow to 33."""

_DICTIONARY = "small"
_END = re.compile(r"[\s\u3002\uff01\uff1f\uff0e]+")
_PAUSE = re.compile(r"[\u3001\uff0c\u30fb\uff09\u300d\u300f]")

# Omits Sudachi's third plugin, which joins a name and its reading in brackets into one word.
_PLUGINS = [
    {"class": "com.worksap.nlp.sudachi.DefaultInputTextPlugin"},
    {
        "class": "com.worksap.nlp.sudachi.ProlongedSoundMarkPlugin",
        "prolongedSoundMarks": ["\u30fc", "-", "\u2053", "\u301c", "\u3030"],
        "replacementSymbol": "\u30fc",
    },
]


class Sudachi:
    """A thread-safe tokenizer: all threads share the dictionary, and each has its own Sudachi tokenizer.

    :raises InputError: if the extra ``ja`` is not installed.
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
        """Return the lower-case words as written, without punctuation.

        >>> Sudachi().words("東京タワーは、1958年12月に完成した。Tokyo Tower")
        ['東京', 'タワー', 'は', '1958', '年', '12', '月', 'に', '完成', 'し', 'た', 'tokyo', 'tower']
        """
        # str.lower turns a dotted capital I into two characters.
        lowered = text.replace("\u0130", "i").lower()
        tokenizer = self._tokenizer()
        words = []
        for piece in pieces(lowered):
            for morpheme in tokenizer.tokenize(_encodable(piece)):
                # A sign such as ㍿ expands to several morphemes, of which only the first has an extent.
                word = piece[morpheme.begin() : morpheme.end()]
                words += [part for part in word.split() if _has_content(part)]
        return words

    def stem(self, word: str) -> str:
        """Return the normalized form of a word, independent of its context.

        >>> [Sudachi().stem(word) for word in ("打込ん", "打ち込む", "シュミレーション", "二〇")]
        ['打ち込む', '打ち込む', 'シミュレーション', '20']
        """
        if len(word) > MAX_PIECE_CHARS:
            return word
        form = unicodedata.normalize("NFKC", word)
        encodable = _encodable(word)
        morphemes = self._tokenizer().tokenize(encodable)
        if len(morphemes) == 1:
            form = morphemes[0].normalized_form()
        if len(morphemes) != 1 or morphemes[0].is_oov():
            # The dictionary also has forms that never occur alone in a text.
            entries = self._dictionary.lookup(encodable)
            if len(entries):
                form = entries[0].normalized_form()
        return "".join(str(form).lower().split())

    def _tokenizer(self) -> Any:
        tokenizer = getattr(self._own, "tokenizer", None)
        if tokenizer is None:
            tokenizer = self._own.tokenizer = self._dictionary.tokenizer("A")
        return tokenizer


def pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces of at most ``MAX_PIECE_CHARS`` characters.

    Cuts after the last sentence in a piece's second half, else after a comma or bracket, else anywhere.

    >>> [len(piece) for piece in pieces("犬" * 600 + "。" + "猫" * 1500)]
    [601, 1000, 500]
    """
    return (text[start:end] for start, end in cut(text, 0, len(text), MAX_PIECE_CHARS, _END, _PAUSE))


def _has_content(word: str) -> bool:
    """Return whether a word has a letter or a digit, also as part of a sign such as ㎏ or ①."""
    return word.isalnum() or any(map(str.isalnum, unicodedata.normalize("NFKC", word)))


def _encodable(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot encode, with "?", so that offsets stay valid."""
    return text.encode("utf-8", "replace").decode("utf-8")


_MAX_BRACKETED_CHARS = 400
"""Maximum distance of an open bracket. Beyond that, its partner is taken to be missing."""

_OPENING_BRACKETS = "\u300c\u300e\uff08\u3010\u3008\u300a\u3014\uff3b"
_CLOSING_BRACKETS = "\u300d\u300f\uff09\u3011\u3009\u300b\u3015\uff3d"
_NUMBERED = re.compile(r"[\u3002\uff01\uff1f](?=\d)")

_NO_OPENING = re.compile(f"\\s{{0,20}}[{_CLOSING_BRACKETS}\u3001\u3002\uff0c\uff0e]")
"""Characters that cannot begin a sentence."""

# Particles that follow a quotation, except where they begin a word that opens sentences (ところが, はじめに).
_PARTICLE = re.compile(
    "って|など|を|だ(?!が|から|って|け)|から(?!だ)|まで(?!も)|と(?!ころ|もかく|もあれ|はいえ|にかく|りわけ|くに|ても|ある|き)|の(?!ち|んびり)"
    "|が(?!っ|ん)|は(?!い|じ|る|た|な|や)|に(?!も|ほ|わ|ぎ|っ|こ)|で(?!も|は|すから|きれ)|も(?!し|う|ち|っ|の|は|と)|や(?!が|っ|は|り|め)"
)


def joined(text: str, boundaries: Sequence[Offsets]) -> list[Offsets]:
    """Correct the sentence boundaries of sentencex.

    Removes boundaries inside brackets, before a closing bracket, and between a quotation and its particle. Adds those
    between a full stop and a number, where sentencex sees a decimal point.

    >>> joined("彼は「行く。」と言った。2年後。", [(0, 7), (7, 16)])
    [(0, 12), (12, 16)]
    """
    starts = {start for start, _ in boundaries} | {stop.end() for stop in _NUMBERED.finditer(text)}
    kept: list[int] = []
    for start in sorted(starts):
        follows_quotation = text[start - 1] in _CLOSING_BRACKETS and _PARTICLE.match(text, start)
        is_inside = bool(kept) and _is_open(text[max(kept[-1], start - _MAX_BRACKETED_CHARS) : start])
        if not kept or not (is_inside or follows_quotation or _NO_OPENING.match(text, start)):
            kept.append(start)
    return list(pairwise([*kept, boundaries[-1][1]])) if boundaries else []


def _is_open(text: str) -> bool:
    """Return whether the last line of a text has a bracket that it does not close."""
    line = text.rpartition("\n")[2]
    opened = sum(map(line.count, _OPENING_BRACKETS))
    closed = sum(map(line.count, _CLOSING_BRACKETS))
    return opened > closed


def japanese_analyzer() -> Analyzer:
    sudachi = Sudachi()
    short = shipped_stopwords("ja")
    return Analyzer(
        "ja",
        f"convqa-ja-2-sudachi-{sudachi.version}",
        short,
        short | shipped_stopwords("ja-long"),
        sudachi.stem,
        sudachi.words,
    )
