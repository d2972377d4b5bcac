"""Word lists of English: auxiliaries, pronouns, question words, negations, numbers.

Each list is defined once. Modules that need a variation use a named subset.
"""

from __future__ import annotations

import re

from convqa.text.words import listed, numerals


def either(words: frozenset[str]) -> str:
    """Return a pattern that matches any of the words, without a word boundary at its end."""
    return f"(?:{'|'.join(sorted(words))})"


# Auxiliaries

HAVE = listed("have has had")
AUXILIARIES = HAVE | listed("am is are was were do does did can could may might must shall should will would")
NEGATED_AUXILIARIES = listed(
    "isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't can't couldn't won't wouldn't shouldn't"
)
SUBJECTLESS_AUXILIARIES = listed("am do did have has had was were")
"""Auxiliaries that also begin replies without a subject: "had a baby", "did it myself"."""

CONTRACTED_AUXILIARIES = listed("ai ca wo")
"""ain't, can't and won't without "n't"."""

# Pronouns and determiners

SUBJECT_PRONOUNS = listed("i we you he she it they")
DEMONSTRATIVES = listed("this that these those")
ARTICLES = listed("a an the")
POSSESSIVES = listed("my our your his her its their")
OPENING_DETERMINERS = (
    ARTICLES | POSSESSIVES | DEMONSTRATIVES | listed("there any all anyone anybody someone somebody everyone everybody")
)
"""Words other than pronouns that may follow the auxiliary of a question."""

# Questions and requests

QUESTION_WORDS = listed("what who whom whose which why how when where")
CONTRACTED_QUESTION_WORDS = listed("what's who's where's how's when's why's")
REQUESTS = listed("tell give show explain describe list name compare discuss summarize define find let please")
"""First verbs of requests."""

ABOUT_THE_ASKING = re.compile(r"why (?:do you ask|are you asking)|what (?:do you|does th(?:at|is)) mean")
"""Questions about a question asked back, which stays open."""

NO_QUESTION_ALONE = QUESTION_WORDS | listed("huh eh sorry pardon really yes no ok okay")
"""Words that on their own ("What?") only ask for an explanation, or answer."""

CONVERSATIONAL = listed("yes no ok okay tell describe discuss explain give talk")
"""Words about the conversation itself, which name no topic."""

# Negations

NEGATIONS = listed("no not never none nor neither nobody nothing without cannot hardly")
CONTRACTED_NOT = ("n't", "n\u2019t")

# Numbers

UNITS = numerals("two three four five six seven eight nine", 2)
_TEENS = numerals("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 10)
TENS = numerals("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
NUMERALS = {"zero": 0, **UNITS, **_TEENS, **TENS}
