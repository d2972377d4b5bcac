"""Derive the edits from a question to its human rewrite, the training targets of the resolver.

A rewrite deletes words of the question and inserts phrases before some of its words or at its end. A phrase is a
**pattern** with at most one slot (``{}``, ``of {}``, ``{}'s``, ``the``), filled with words of the history. Source:
tag-and-point models of rewriting (Jin et al., "Hierarchical Context Tagging", AAAI 2022).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from convqa.models.kinds.resolver import MAX_PHRASE_WORDS, SLOT
from convqa.models.kinds.resolver_input import LayoutWord, TurnLayout, word_spans
from convqa.text.analysis import analyzer


@dataclass(frozen=True, slots=True)
class Insertion:
    """A phrase to insert before word ``position`` of the question, or at its end.

    ``places``: first and last index in ``history_words`` of each occurrence of the slot's words, () without a
    slot.
    """

    position: int
    pattern: str
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Edits:
    """``deleted[i]``: question word i is deleted; ``terms[j]``: history word j belongs to the rewrite."""

    deleted: tuple[bool, ...]
    insertions: tuple[Insertion, ...]
    terms: tuple[bool, ...]


def find_edits(layout: TurnLayout, rewrite: str) -> Edits:
    """Return the edits from a layout's question to its rewrite, as far as the history contains the words."""
    question = [_plain(layout.text(word)) for word in layout.question_words]
    target = [_plain(rewrite[start:end]) for start, end in word_spans(rewrite)]
    # Ignores punctuation at the end; insertions at the end go before it.
    length = len(question) - (1 if question and not question[-1].isalnum() else 0)
    while target and not target[-1].isalnum() and target[-1] != "'s":
        target.pop()
    deleted = [False] * len(question)
    insertions = []
    history = layout.history_words
    history_texts = [_plain(layout.text(word)) for word in history]
    matcher = difflib.SequenceMatcher(None, question[:length], target, autojunk=False)
    for tag, i, j, a, b in matcher.get_opcodes():
        if tag != "equal":
            deleted[i:j] = [True] * (j - i)
            if b > a:
                insertions.append(_insertion(i, target[a:b], history, history_texts))
    return Edits(tuple(deleted), tuple(insertions), terms_of(layout, rewrite))


def terms_of(layout: TurnLayout, rewrite: str) -> tuple[bool, ...]:
    """Mark the history words that occur in the rewrite but not in the question, by stem and without stop words."""
    question = {_stem(_plain(layout.text(word))) for word in layout.question_words}
    added = {_stem(_plain(rewrite[start:end])) for start, end in word_spans(rewrite)} - question
    history = (_plain(layout.text(word)) for word in layout.history_words)
    return tuple(_is_content(word) and _stem(word) in added for word in history)


def known_pattern(pattern: str, known: Sequence[str]) -> str | None:
    """Return the pattern if it is known, else the bare slot, or None for words from outside the history."""
    if pattern in known:
        return pattern
    return SLOT if SLOT in pattern else None


def _insertion(position: int, phrase: list[str], history: Sequence[LayoutWord], texts: list[str]) -> Insertion:
    for length in range(min(len(phrase), MAX_PHRASE_WORDS), 0, -1):
        for start in range(len(phrase) - length + 1):
            slot = phrase[start : start + length]
            if any(map(_is_content, slot)) and (places := _occurrences(slot, history, texts)):
                pattern = " ".join([*phrase[:start], SLOT, *phrase[start + length :]])
                return Insertion(position, pattern, places)
    return Insertion(position, " ".join(phrase), ())


def _occurrences(slot: list[str], history: Sequence[LayoutWord], texts: list[str]) -> tuple[tuple[int, int], ...]:
    last = len(slot) - 1
    return tuple(
        (first, first + last)
        for first in range(len(texts) - last)
        if texts[first] == slot[0]
        and texts[first : first + last + 1] == slot
        and history[first].utterance == history[first + last].utterance
    )


def _plain(word: str) -> str:
    return word.lower().replace("\u2019", "'")


def _is_content(word: str) -> bool:
    return word[0].isalnum() and word not in analyzer("en").long_stopwords


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return analyzer("en").stem(word)
