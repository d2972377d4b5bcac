"""Recognize English questions that can be answered yes or no."""

from __future__ import annotations

import re

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
