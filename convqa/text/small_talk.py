"""Small talk: thanks, agreement, greetings and the like, which ask nothing. Closed lists: ``configs/small_talk.yaml``.

A text is small talk where all of it is made of these phrases: "ok, thanks!" is, "thanks, and his wife?" is not.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from convqa.places import shipped
from convqa.safe_yaml import read_yaml

_LONGEST = 20
"""Words; what is longer says something."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_COURTESY = re.compile(r"\b(?:how (?:are|r) (?:you|u)(?: \w+)*|how's it going|how do you do|what's up|sup)\Z")
"""Of what ends with a question mark only this asks nothing of a collection."""


def asks_nothing(text: str, language: str = "en") -> bool:
    """Whether all of what the user said is small talk, so that there is nothing to look for.

    A question mark asks, but for "how are you?". In a language whose phrases are not known everything asks something.

    >>> [asks_nothing(text) for text in ("ok cool", "Thanks, that's very helpful!", "lol", "\U0001f44d")]
    [True, True, True, True]
    >>> [asks_nothing(text) for text in ("tell me more", "hello kitty", "thanks, and his wife?", "why", "")]
    [False, False, False, False, False]
    """
    phrase = _phrase(language)
    if phrase is None or not text.strip():
        return False
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    if any(mark in text for mark in "?\uff1f") and not _COURTESY.search(" ".join(words)):
        return False
    return len(words) <= _LONGEST and _made_of(phrase, words)


def _made_of(phrase: re.Pattern[str], words: list[str]) -> bool:
    """Whether words are phrases one after another: the longest first, so that no time is lost with going back."""
    start = 0
    while start < len(words):
        ends = range(len(words), start, -1)
        start = next((end for end in ends if phrase.fullmatch(" ".join(words[start:end]))), 0)
        if not start:
            return False
    return True


@cache
def _phrase(language: str) -> re.Pattern[str] | None:
    """The pattern of one phrase of a language; None for a language without a list."""
    known: dict[str, Any] = read_yaml(shipped("configs", "small_talk.yaml"), "small talk")
    if language not in known["phrases"]:
        return None
    address = "{address}" if language == "en" else ""
    pattern = f"(?:and |but )?(?:{'|'.join(known['phrases'][language])}){address}"
    for name, part in reversed(known["parts"].items()):
        pattern = pattern.replace(f"{{{name}}}", part)
    return re.compile(pattern)
