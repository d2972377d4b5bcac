"""The analyzer of German, and its word lists, the counterpart of :mod:`convqa.text.english.lexicon`."""

from __future__ import annotations

import re

from convqa.text.analysis import Analyzer, shipped_stopwords, snowball
from convqa.text.words import listed, numerals

QUESTION_WORDS = listed(
    "wer wen wem wessen was wann wo wohin woher welche welcher welches welchem welchen warum wieso weshalb wie womit "
    "wodurch worin woran"
)
OPENINGS = listed(
    "ist sind war waren hat haben hatte hatten kann konnte können wird werden darf soll muss gibt gab nenne erkläre "
    "beschreibe zeige sag vergleiche"
)
"""First words of requests and of questions without a question word."""

CONVERSATIONAL = listed("ja nein") | QUESTION_WORDS
"""Words about the conversation itself, which name no topic."""

NEGATIONS = listed("nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder")
_UNITS = numerals("zwei drei vier fünf sechs sieben acht neun", 2)
_TEENS = numerals("zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", 10)
_TENS = numerals("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10)
NUMERALS = {"null": 0, **_UNITS, **_TEENS, **_TENS}
for _ten, _tens in _TENS.items():
    for _unit, _value in {"ein": 1, **_UNITS}.items():
        NUMERALS[f"{_unit}und{_ten}"] = _value + _tens

ORDINAL = re.compile(
    r"\b(?:[aib]m|beim|[vz][ou]m|zur|[ai]ns|de[mnrs]|die|das|und|(?:jed|ihr|unser|eur|k?ein|[mds]ein)(?:e[mnrs]?)?)"
    r" \d{1,2}\.\s*",
    re.IGNORECASE,
)
"""An ordinal number after a word that stands before a noun: "Im 18. "."""


def german_analyzer() -> Analyzer:
    stopwords = shipped_stopwords("de")
    return Analyzer(
        "de",
        "convqa-de-2",
        stopwords,
        stopwords,
        snowball("german"),
    )
