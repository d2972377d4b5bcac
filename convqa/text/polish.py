"""The analyzer of Polish: lemmas from a dictionary, and removal of diacritics.

Needs the extra ``pl`` (Morfeusz with the dictionary SGJP). See docs/dependencies.md for the choice of library and
docs/benchmarks/stand-ins.md for the effect of each step.
"""

from __future__ import annotations

import threading
import unicodedata
from typing import Any

from convqa.errors import InputError
from convqa.text.analysis import Analyzer, shipped_stopwords, snowball

MAX_WORD_CHARS = 100
"""Maximum length of a word for Morfeusz, which may take quadratic time. No dictionary word is as long."""

_PLAIN = {ord("ł"): "l"}
for _code in range(0xC0, 0x250):
    _letter = unicodedata.normalize("NFD", chr(_code))[0]
    if _letter.isascii():
        _PLAIN[_code] = _letter


class Morfeusz:
    """A thread-safe lemmatizer.

    :raises InputError: if the extra ``pl`` is not installed.
    """

    def __init__(self) -> None:
        try:
            import morfeusz2
        except ImportError as error:
            raise InputError(
                "language 'pl' needs the package morfeusz2. Install the extra pl: pip install 'convqa[pl]'"
            ) from error
        self._morfeusz: Any = morfeusz2.Morfeusz(generate=False)
        self._lock = threading.Lock()
        self.dictionary = str(self._morfeusz.dict_id()).rpartition(".sgjp.")[2]

    def lemma(self, word: str) -> str:
        """Return the lower-case lemma of a lower-case word, or the word itself if the dictionary lacks it.

        Of several lemmas, picks the shortest and then the first in alphabetical order, regardless of context. Lemmas
        with a label (archaic, dialectal, technical ...) are used only if there is no other.

        >>> [Morfeusz().lemma(word) for word in ("psami", "lepszego", "warszawie", "1,5", "convqa")]
        ['pies', 'dobry', 'warszawa', '1,5', 'convqa']
        """
        if not word.isalpha() or len(word) > MAX_WORD_CHARS:
            return word
        # Indexes the results instead of calling the library's own analyse, which uses a SWIG iterator: faiss, imported
        # later, replaces SWIG's types in the process, which would then crash.
        engine = self._morfeusz._morfeusz_obj
        with self._lock:
            results = engine.analyse(word)
            readings = [results[index] for index in range(results.size())]
            lemmas = []
            for reading in readings:
                # Parts count: byłem is był and em. A colon separates a lemma from the number of its homonym.
                if (reading.startNode, reading.endNode) == (0, 1):
                    lemma = reading.lemma.split(":")[0].lower()
                    lemmas.append((bool(reading.getLabels(engine)), len(lemma), lemma))
        return min(lemmas)[2] if lemmas else word


def plain(word: str) -> str:
    """Return a lower-case word without the diacritics of Latin letters.

    >>> plain("źródło"), plain("dvořák"), plain("чай")
    ('zrodlo', 'dvorak', 'чай')
    """
    return word.translate(_PLAIN)


def polish_analyzer() -> Analyzer:
    morfeusz = Morfeusz()
    snowball_stem = snowball("polish")

    def stem(word: str) -> str:
        lemma = morfeusz.lemma(unicodedata.normalize("NFC", word))
        return plain(snowball_stem(lemma))

    short = shipped_stopwords("pl")
    stopwords = short | shipped_stopwords("pl-long")
    # Questions are often typed without diacritics.
    long = stopwords | {plain(word) for word in stopwords}
    return Analyzer(
        "pl",
        f"convqa-pl-2-{morfeusz.dictionary}",
        short,
        long,
        stem,
    )
