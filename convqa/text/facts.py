"""Recognize questions that one sentence can answer, in English and German."""

from __future__ import annotations

from convqa.text import german
from convqa.text.english import lexicon
from convqa.text.english.replies import is_yes_no_question


def asks_for_fact(question: str, language: str) -> bool:
    """Return whether a question asks for one fact (who, when, where, which, how many, what year) or for yes or no.

    Always False for other languages.

    >>> [asks_for_fact(text, "en") for text in ("And who wrote it?", "How long is the Nile?", "Was it unanimous?")]
    [True, True, True]
    >>> [asks_for_fact(text, "en") for text in ("How does it work?", "Are there others?", "Can you tell me about it?")]
    [False, False, False]
    >>> asks_for_fact("Wann wurde er geboren?", "de"), asks_for_fact("誰が書きましたか?", "ja")
    (True, False)
    """
    if language == "de":
        return bool(german.ASKS_FOR_FACT.search(question))
    if language != "en":
        return False
    if lexicon.ASKS_FOR_FACT.search(question):
        return True
    return is_yes_no_question(question) and not lexicon.ASKS_FOR_SEVERAL.search(question)
