"""The analyzer of English: the tokens of Lucene's ``EnglishAnalyzer``."""

from __future__ import annotations

import re

from convqa.text.analysis import Analyzer, shipped_stopwords, snowball

_VOWEL_THEN_CONSONANT = re.compile(r"[aeiou].*[^aeiouy]|[^aeiou]y.*[^aeiouy]|[aeiou]y")


def english_analyzer() -> Analyzer:
    snowball_stem = snowball("porter")

    def stem(word: str) -> str:
        """Stem as Lucene's Porter does: Snowball's stem, except for words of two letters, -bli and -logi."""
        if len(word) < 3:
            return word
        stemmed = snowball_stem(word)
        if stemmed.endswith("logi") and _VOWEL_THEN_CONSONANT.search(stemmed[:-4]):
            return stemmed[:-1]
        if stemmed.endswith("bli") and _VOWEL_THEN_CONSONANT.search(stemmed[:-3]):
            return snowball_stem(stemmed[:-1] + "e")
        return stemmed

    short = shipped_stopwords("en")
    long = short | shipped_stopwords("en-long")
    return Analyzer(
        "en",
        "convqa-en-2",
        short,
        long,
        stem,
        drops_possessive=True,
    )
