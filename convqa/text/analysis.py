"""Turn text into tokens. Every writable store indexes these tokens, and every query is analyzed the same way.

English follows Lucene's ``EnglishAnalyzer`` (words by UAX 29, possessives removed, lower case, 33 stop words, Porter).
German uses Snowball's stemmer and stop list. Polish uses Snowball's stem of Morfeusz's lemma, without diacritics (extra
``pl``). Japanese uses the normalized forms of Sudachi's short units (extra ``ja``). Any other language has the words of
UAX 29, where a Chinese character is a word, with Snowball's stemmer if there is one, and no stop words.
:mod:`convqa.text.languages` lists the languages, and those of other packages.
"""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Literal

import Stemmer

from convqa.domain import Query
from convqa.errors import InputError, nearest
from convqa.plugins import load
from convqa.text.languages import ISO_639_1, languages
from convqa.text.words import words as split_words

logger = logging.getLogger(__name__)

MAX_TOKEN_CHARS = 255
"""As in Lucene. Longer tokens are dropped."""

MOST_TOKENS = 1024
"""Maximum distinct tokens of a query."""

_MAX_CACHED_WORDS = 300_000

_APOSTROPHES = frozenset("'\u2018\u2019\u02bc\uff07")
_FOLDED = {ord(apostrophe): "'" for apostrophe in _APOSTROPHES}
_NOTE_MARK = re.compile("(?<=[^\\W\\d_]{3})[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+")
"""A footnote mark. NFKC would make it part of the word before it."""


@dataclass(frozen=True)
class Analyzer:
    """The analysis of one language. Safe to share between threads.

    :param language: its code.
    :param name: names and versions everything that determines tokens. A collection is searched only with the analyzer
        that it was indexed with.
    :param stopwords: always dropped.
    :param long_stopwords: a superset, dropped only from queries that ask for it.
    :param stem: lower-case word -> stem.
    :param split: text -> lower-case words.
    :param drops_possessive: whether to drop 's from words.
    :param composes: whether to normalize text to NFKC and apostrophes to ' before cutting it into tokens. Words keep
        their spelling.
    """

    language: str
    name: str
    stopwords: frozenset[str]
    long_stopwords: frozenset[str]
    stem: Callable[[str], str] = field(repr=False, compare=False)
    split: Callable[[str], list[str]] = field(
        default=split_words,
        repr=False,
        compare=False,
    )
    drops_possessive: bool = False
    composes: bool = True

    def words(self, text: str) -> list[str]:
        """Return the lower-case words without possessive 's."""
        return [self._bare(word) for word in self.split(text)]

    def tokens(self, text: str) -> list[str]:
        """Return the stems of all words but stop words, in order.

        >>> analyzer("en").tokens("The engineers' bridges of London's river")
        ['engin', 'bridg', 'london', 'river']
        """
        return self._stemmed(self._indexed_words(text))

    def content(self, text: str) -> list[str]:
        """Return the tokens without the long stop words."""
        words = self._indexed_words(text)
        return self._stemmed(word for word in words if self._bare(word) not in self.long_stopwords)

    def content_words(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each word outside the long stop words, with its stem."""
        for word in self.words(text):
            if word not in self.long_stopwords:
                yield word, self.stem(word)

    def _indexed_words(self, text: str) -> list[str]:
        if self.composes and not text.isascii():
            text = unicodedata.normalize("NFKC", _NOTE_MARK.sub(" ", text)).translate(_FOLDED)
        return self.split(text)

    def _stemmed(self, words: Iterable[str]) -> list[str]:
        return [token for token in map(self._token, words) if token]

    @cached_property
    def _token(self) -> Callable[[str], str]:
        """Return the token of a word, "" for a dropped word."""

        def token(word: str) -> str:
            bare = self._bare(word)
            is_dropped = len(word) > MAX_TOKEN_CHARS or bare in self.stopwords
            return "" if is_dropped else self.stem(bare)

        return lru_cache(_MAX_CACHED_WORDS)(token)

    def _bare(self, word: str) -> str:
        if self.drops_possessive and word[-1] == "s" and word[-2:-1] in _APOSTROPHES:
            return word[:-2]
        return word


@cache
def analyzer(language: str) -> Analyzer:
    """Return the analyzer of a language, given its two-letter code.

    >>> analyzer("fr").tokens("Les maisons"), analyzer("zh").tokens("\u4ed6\u5728\u54ea\u91cc")
    (['le', 'maison'], ['\u4ed6', '\u5728', '\u54ea', '\u91cc'])

    :raises InputError: if the language is unknown, or its package cannot be loaded.
    """
    points = languages()
    if language not in points:
        return _words_analyzer(language)
    make_analyzer = load(points[language])
    result = make_analyzer()
    if not isinstance(result, Analyzer):
        raise InputError(f"language {language!r}: expected an Analyzer of {points[language].value}, got {result!r:.60}")
    return result


def _words_analyzer(language: str) -> Analyzer:
    if language not in ISO_639_1:
        known = languages()
        raise InputError(
            f"unknown language {language!r}; expected one of {', '.join(sorted(known))}, or another two-letter code of "
            f"ISO 639-1.{nearest(language, known)}"
        )
    stem: Callable[[str], str] = str
    with suppress(KeyError):
        stem = snowball(language)
    return Analyzer(language, f"convqa-{language}-1", frozenset(), frozenset(), stem)


@cache
def analyzer_or_words(language: str) -> Analyzer:
    """Return the analyzer of a language, or one that only lower-cases words if the language has no analysis."""
    try:
        return analyzer(language)
    except InputError:
        return Analyzer(language, "words", frozenset(), frozenset(), str)


def weigh(
    query: Query,
    analyzer: Analyzer,
    stopwords: Literal["default", "long"] = "default",
) -> dict[str, float]:
    """Return the token -> weight map that every store searches for.

    Each occurrence of a token in the text counts 1; each token of a history term adds the term's weight. Stop words are
    removed from both. Over 1,024 distinct tokens, logs a warning and keeps the heaviest (ties by token).

    >>> weigh(Query("Is Rome older?", (("Old Rome", 0.5),)), analyzer("en"))
    {'rome': 1.5, 'older': 1.0, 'old': 0.5}
    """
    tokens_of = analyzer.tokens if stopwords == "default" else analyzer.content
    weights: dict[str, float] = dict(Counter(tokens_of(query.text)))
    for term, weight in query.terms:
        for token in tokens_of(term):
            weights[token] = weights.get(token, 0.0) + weight
    if len(weights) > MOST_TOKENS:
        logger.warning(
            "a query has %d distinct tokens: the heaviest %d are searched",
            len(weights),
            MOST_TOKENS,
        )
        heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
        weights = dict(heaviest[:MOST_TOKENS])
    return {token: float(weight) for token, weight in weights.items() if weight}


def placed(text: str, language: str) -> Iterator[tuple[str, int]]:
    """Yield each lower-case word with its offset in the text.

    >>> list(placed("Ada's Engine", "en"))
    [('ada', 0), ('engine', 6)]
    """
    # The dotted capital I is the only character that str.lower makes longer.
    lowered = text.replace("\u0130", "i").lower()
    start = 0
    for word in analyzer(language).words(text):
        start = lowered.index(word, start)
        yield word, start
        start += len(word)


def snowball(algorithm: str) -> Callable[[str], str]:
    """Return a thread-safe stemmer; PyStemmer's objects are not."""
    stemmer = Stemmer.Stemmer(algorithm, 0)
    lock = threading.Lock()

    def stem(word: str) -> str:
        with lock:
            return str(stemmer.stemWord(word))

    return stem


def shipped_stopwords(name: str) -> frozenset[str]:
    """Return a list of convqa/text/stopwords."""
    path = Path(__file__).parent / "stopwords" / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
