"""Polish lemmas from a dictionary, and removal of diacritics.

Needs the extra ``pl`` (Morfeusz with the dictionary SGJP). See docs/dependencies.md for the choice of library and
docs/benchmarks/stand-ins.md for the effect of each step.
"""

from __future__ import annotations

import threading
import unicodedata
from typing import Any

from convqa.errors import InputError

LONGEST_WORD = 100
"""Maximum characters of a word for Morfeusz, which may take quadratic time. No dictionary word is as long."""

_DECOMPOSED = {code: unicodedata.normalize("NFD", chr(code))[0] for code in range(0xC0, 0x250)}
_PLAIN = {**{code: letter for code, letter in _DECOMPOSED.items() if letter.isascii()}, ord("ł"): "l"}


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
        if not word.isalpha() or len(word) > LONGEST_WORD:
            return word
        # Indexes the results instead of calling the library's own analyse, which uses a SWIG iterator: faiss, imported
        # later, replaces SWIG's types in the process, which would then crash.
        engine = self._morfeusz._morfeusz_obj
        with self._lock:
            results = engine.analyse(word)
            readings = [results[index] for index in range(results.size())]
            # Parts count: byłem is był and em. A colon separates a lemma from the number of its homonym.
            lemmas = [(bool(reading.getLabels(engine)), reading.lemma.split(":")[0].lower()) for reading in readings
                      if (reading.startNode, reading.endNode) == (0, 1)]  # fmt: skip
        return min(lemmas, key=lambda each: (each[0], len(each[1]), each[1]))[1] if lemmas else word


def plain(word: str) -> str:
    """Return a lower-case word without the diacritics of Latin letters.

    >>> plain("źródło"), plain("dvořák"), plain("чай")
    ('zrodlo', 'dvorak', 'чай')
    """
    return word.translate(_PLAIN)
