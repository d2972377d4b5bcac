"""Turn text into tokens. Every writable store indexes these tokens, and every query is analyzed the same way.

English follows Lucene's ``EnglishAnalyzer`` (words by UAX 29, possessives removed, lower case, 33 stop words, Porter).
German uses Snowball's stemmer and stop list. Polish uses Snowball's stem of Morfeusz's lemma, without diacritics (extra
``pl``). Japanese uses the normalized forms of Sudachi's short units (extra ``ja``).
To add a language, add an entry to ``LANGUAGES`` and a stop list.
"""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import Stemmer

from convqa.domain import Query
from convqa.errors import InputError, nearest
from convqa.text.words import words as split

logger = logging.getLogger(__name__)

LONGEST_TOKEN = 255
"""Maximum characters of a token, as in Lucene. Longer tokens are dropped."""

MOST_TOKENS = 1024
"""Maximum distinct tokens of a query."""

_CACHED_WORDS = 300_000


@dataclass(frozen=True)
class Analyzer:
    """The analysis of one language. Safe to share between threads.

    ``stopwords`` are always dropped; ``long_stopwords``, a superset, only from queries that ask for it.
    """

    language: str
    name: str
    stopwords: frozenset[str]
    long_stopwords: frozenset[str]
    stem: Callable[[str], str] = field(repr=False, compare=False)
    """Lower-case word -> stem."""
    _possessive: bool = field(repr=False, compare=False)
    _split: Callable[[str], list[str]] = field(default=split, repr=False, compare=False)
    """Text -> lower-case words."""
    _compose: bool = field(default=False, repr=False, compare=False)
    """Whether to normalize text to NFKC before cutting it into tokens. Words keep their spelling."""
    _tokens: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Cache of word -> token, "" for a dropped word."""

    def words(self, text: str) -> list[str]:
        """Return the lower-case words without possessive 's."""
        return [self._bare(word) for word in self._split(text)]

    def tokens(self, text: str) -> list[str]:
        """Return the stems of all words but stop words, in order.

        >>> analyzer("en").tokens("The engineers' bridges of London's river")
        ['engin', 'bridg', 'london', 'river']
        """
        return self._stemmed(self._cut(text))

    def content(self, text: str) -> list[str]:
        """Return the tokens without the long stop words."""
        return self._stemmed(word for word in self._cut(text) if self._bare(word) not in self.long_stopwords)

    def content_words(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each word outside the long stop words, with its stem."""
        for word in self.words(text):
            if word not in self.long_stopwords:
                yield word, self.stem(word)

    def _cut(self, text: str) -> list[str]:
        return self._split(unicodedata.normalize("NFKC", text) if self._compose else text)

    def _stemmed(self, words: Iterable[str]) -> list[str]:
        tokens = []
        for word in words:
            token = self._tokens.get(word)
            if token is None:
                token = self._add_token(word)
            if token:
                tokens.append(token)
        return tokens

    def _bare(self, word: str) -> str:
        return word[:-2] if self._possessive and word[-1] == "s" and word[-2:-1] in _APOSTROPHES else word

    def _add_token(self, word: str) -> str:
        if len(word) > LONGEST_TOKEN:
            return ""
        bare = self._bare(word)
        token = "" if bare in self.stopwords else self.stem(bare)
        if len(self._tokens) >= _CACHED_WORDS:
            self._tokens.clear()
        self._tokens[word] = token
        return token


@cache
def analyzer(language: str) -> Analyzer:
    """Return the analyzer of a language, given its two-letter code.

    :raises InputError: if the language is unknown.
    """
    if language not in LANGUAGES:
        raise InputError(
            f"unknown language {language!r}; expected one of {', '.join(sorted(LANGUAGES))}."
            + nearest(language, LANGUAGES)
        )
    return LANGUAGES[language]()


@cache
def analyzer_or_words(language: str) -> Analyzer:
    """Return the analyzer of a language, or one that only lower-cases words if the language has no analysis."""
    try:
        return analyzer(language)
    except InputError:
        return Analyzer(language, "words", frozenset(), frozenset(), str, False)


def weigh(query: Query, analyzer: Analyzer, stopwords: Literal["default", "long"] = "default") -> dict[str, float]:
    """Return the token -> weight map that every store searches for.

    Each occurrence of a token in the text counts 1; each token of a history term adds the term's weight. Stop words are
    removed from both. Over 1,024 distinct tokens, logs a warning and keeps the heaviest (ties by token).

    >>> weigh(Query("Is Rome older?", (("Old Rome", 0.5),)), analyzer("en"))
    {'rome': 1.5, 'older': 1.0, 'old': 0.5}
    """
    cut = analyzer.tokens if stopwords == "default" else analyzer.content
    weights: dict[str, float] = dict(Counter(cut(query.text)))
    for term, weight in query.terms:
        for token in cut(term):
            weights[token] = weights.get(token, 0.0) + weight
    if len(weights) > MOST_TOKENS:
        logger.warning("a query has %d distinct tokens: the heaviest %d are searched", len(weights), MOST_TOKENS)
        weights = dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MOST_TOKENS])
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


_APOSTROPHES = frozenset("'\u2019\uff07")
_VOWEL_THEN_CONSONANT = re.compile(r"[aeiou].*[^aeiouy]|[^aeiou]y.*[^aeiouy]|[aeiou]y")


def _porter(stem: Callable[[str], str], word: str) -> str:
    """Stem as Lucene's Porter does: Snowball's stem, except for words of two letters, -bli and -logi."""
    if len(word) < 3:
        return word
    stemmed = stem(word)
    if stemmed.endswith("logi") and _VOWEL_THEN_CONSONANT.search(stemmed[:-4]):
        return stemmed[:-1]
    if stemmed.endswith("bli") and _VOWEL_THEN_CONSONANT.search(stemmed[:-3]):
        return stem(stemmed[:-1] + "e")
    return stemmed


def _snowball(algorithm: str) -> Callable[[str], str]:
    """Return a thread-safe stemmer; PyStemmer's objects are not."""
    stemmer, lock = Stemmer.Stemmer(algorithm, 0), threading.Lock()

    def stem(word: str) -> str:
        with lock:
            return str(stemmer.stemWord(word))

    return stem


def _stopwords(name: str) -> frozenset[str]:
    lines = (Path(__file__).parent / "stopwords" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def _english() -> Analyzer:
    snowball, short = _snowball("porter"), _stopwords("en")
    return Analyzer(
        "en", "convqa-en-1", short, short | _stopwords("en-long"), lambda word: _porter(snowball, word), True
    )


def _german() -> Analyzer:
    stopwords = _stopwords("de")
    return Analyzer("de", "convqa-de-1", stopwords, stopwords, _snowball("german"), False)


def _japanese() -> Analyzer:
    from convqa.text.japanese import Sudachi

    sudachi, short = Sudachi(), _stopwords("ja")
    name = f"convqa-ja-1-sudachi-{sudachi.version}"
    return Analyzer(
        "ja", name, short, short | _stopwords("ja-long"), sudachi.stem, False, _split=sudachi.words, _compose=True
    )


def _polish() -> Analyzer:
    from convqa.text.polish import Morfeusz, plain

    morfeusz, snowball, short = Morfeusz(), _snowball("polish"), _stopwords("pl")
    stopwords = short | _stopwords("pl-long")

    def stem(word: str) -> str:
        return plain(snowball(morfeusz.lemma(unicodedata.normalize("NFC", word))))

    # Questions are often typed without diacritics.
    long = stopwords | {plain(word) for word in stopwords}
    return Analyzer("pl", f"convqa-pl-1-{morfeusz.dictionary}", short, long, stem, False)


LANGUAGES: dict[str, Callable[[], Analyzer]] = {"en": _english, "de": _german, "ja": _japanese, "pl": _polish}
