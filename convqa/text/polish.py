"""Polish words by the lemma that a dictionary has, stemmed, without diacritics.

Needs the extra ``pl`` (Morfeusz with the dictionary SGJP). Why this library, and what each step finds:
docs/dependencies.md and docs/benchmarks.md.
"""

from __future__ import annotations

import threading
import unicodedata
from typing import Any

from convqa.errors import InputError

LONGEST_WORD = 100
"""Characters that Morfeusz is given, whose time may grow with their square; no word of the dictionary is as long."""

_DECOMPOSED = {code: unicodedata.normalize("NFD", chr(code))[0] for code in range(0xC0, 0x250)}
_PLAIN = {**{code: letter for code, letter in _DECOMPOSED.items() if letter.isascii()}, ord("ł"): "l"}


class Morfeusz:
    """Lemmas, in as many threads as there are, one at a time.

    :raises InputError: where the extra ``pl`` is not installed.
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
        """The lemma of a lower-case word, in lower case; a word that is not in the dictionary stays as it is.

        Of several lemmas the shortest, then the first by letters, whatever the sentence; those that the dictionary
        marks (as archaic, dialectal, of one field ...) only where there is no other.

        >>> [Morfeusz().lemma(word) for word in ("psami", "lepszego", "warszawie", "1,5", "convqa")]
        ['pies', 'dobry', 'warszawa', '1,5', 'convqa']
        """
        if not word.isalpha() or len(word) > LONGEST_WORD:
            return word
        # By place, and not by analyse of the library's own: that goes through an iterator of SWIG's, whose types a
        # process has once, and faiss (imported later) puts its own in their place: the process would crash.
        engine = self._morfeusz._morfeusz_obj
        with self._lock:
            results = engine.analyse(word)
            found = [results[place] for place in range(results.size())]
            # Parts count: byłem is był and em. Homonyms of one lemma are told by what stands behind a colon.
            first = [(bool(one.getLabels(engine)), one.lemma.split(":")[0].lower()) for one in found
                     if (one.startNode, one.endNode) == (0, 1)]  # fmt: skip
        return min(first, key=lambda each: (each[0], len(each[1]), each[1]))[1] if first else word


def plain(word: str) -> str:
    """A lower-case word without the diacritics of Latin letters.

    >>> plain("źródło"), plain("dvořák"), plain("чай")
    ('zrodlo', 'dvorak', 'чай')
    """
    return word.translate(_PLAIN)
