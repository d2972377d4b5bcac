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
class PatternInsertion:
    """A phrase to insert before word ``position`` of the question, or at its end.

    ``occurrences``: first and last index in ``history_words`` of each occurrence of the slot's words, if it has a slot.
    """

    position: int
    pattern: str
    occurrences: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class QuestionEdits:
    """``deleted[i]``: question word i is deleted. ``terms[j]``: history word j occurs in the rewrite but not in the
    question, by stem and without stop words.
    """

    deleted: list[bool]
    insertions: list[PatternInsertion]
    terms: list[bool]


def find_edits(layout: TurnLayout, rewrite: str) -> QuestionEdits:
    """Return the edits from a layout's question to its rewrite, as far as the history contains the words."""
    question = [_plain(layout.text(word)) for word in layout.question_words]
    target = [_plain(rewrite[start:end]) for start, end in word_spans(rewrite)]
    added = {_stem(word) for word in target} - {_stem(word) for word in question}
    # Ignores punctuation at the end; insertions at the end go before it.
    length = len(question)
    if question and not question[-1].isalnum():
        length -= 1
    while target and not target[-1].isalnum() and target[-1] != "'s":
        target.pop()
    deleted = [False] * len(question)
    insertions = []
    history = layout.history_words
    texts = [_plain(layout.text(word)) for word in history]
    matcher = difflib.SequenceMatcher(
        None,
        question[:length],
        target,
        autojunk=False,
    )
    for tag, start, end, target_start, target_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        deleted[start:end] = [True] * (end - start)
        if target_end > target_start:
            insertions.append(
                _insertion(
                    start,
                    target[target_start:target_end],
                    history,
                    texts,
                )
            )
    terms = [_is_content(word) and _stem(word) in added for word in texts]
    return QuestionEdits(deleted, insertions, terms)


def known_pattern(pattern: str, known: Sequence[str]) -> str | None:
    """Return the pattern if it is known, else the bare slot, or None for words from outside the history."""
    if pattern in known:
        return pattern
    return SLOT if SLOT in pattern else None


def _insertion(
    position: int,
    phrase: list[str],
    history: Sequence[LayoutWord],
    texts: list[str],
) -> PatternInsertion:
    """Return the pattern with the longest words of the history in its slot."""
    for length in range(min(len(phrase), MAX_PHRASE_WORDS), 0, -1):
        for start in range(len(phrase) - length + 1):
            slot = phrase[start : start + length]
            occurrences = _occurrences(slot, history, texts) if any(map(_is_content, slot)) else []
            if occurrences:
                pattern = " ".join([*phrase[:start], SLOT, *phrase[start + length :]])
                return PatternInsertion(position, pattern, occurrences)
    return PatternInsertion(position, " ".join(phrase), [])


def _occurrences(
    slot: list[str],
    history: Sequence[LayoutWord],
    texts: list[str],
) -> list[tuple[int, int]]:
    """Return first and last index in the history of each occurrence of words within an utterance."""
    occurrences = []
    for first in range(len(texts) - len(slot) + 1):
        last = first + len(slot) - 1
        is_whole = history[first].utterance == history[last].utterance
        if is_whole and texts[first : last + 1] == slot:
            occurrences.append((first, last))
    return occurrences


def _plain(word: str) -> str:
    return word.lower().replace("\u2019", "'")


def _is_content(word: str) -> bool:
    return word[0].isalnum() and word not in analyzer("en").long_stopwords


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return analyzer("en").stem(word)
