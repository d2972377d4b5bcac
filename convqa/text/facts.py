"""Recognize questions that one sentence can answer, in English and German."""

from __future__ import annotations

import re

from convqa.text import german
from convqa.text.english import lexicon
from convqa.text.english.lexicon import either
from convqa.text.sentences import sentences

_YES_NO = re.compile(rf"(?:^|[,;:.!]\s+|\band\s+){either(lexicon.AUXILIARIES)}(?:n't)?\s+(?:\w+[\u2019'\s-])", re.I)
_POLITE = re.compile(
    rf"^\W*(?:(?:and|but|so)\s+)?{either(lexicon.QUESTION_WORDS)}\b|"
    r"\b(?:can|could|would|will|do|did) you (?:please )?(?:tell|explain|say|show|know|describe|help|give|let me know)\b"
    r"(?!.{0,20}\b(?:if|whether)\b)",
    re.I,
)
"""A question that expects more than yes or no, even if it has the form of a yes/no question."""


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


def is_yes_no_question(question: str) -> bool:
    """Return whether an English question can be answered yes or no, by its word order.

    >>> is_yes_no_question("If I live abroad, can I get it?"), is_yes_no_question("I am 70. Can I apply?")
    (True, True)
    >>> is_yes_no_question("How much is it?"), is_yes_no_question("Could you tell me how much it is?")
    (False, False)
    """
    parts = [question[start:end] for start, end in sentences(question)]
    asking = [part for part in parts if part.endswith("?")] or parts[-1:]
    return any(_YES_NO.search(part) and not _POLITE.search(part) for part in asking)
