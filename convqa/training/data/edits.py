"""What the resolver learns from a question and its human rewrite: which words go, and what of the history comes in.

A rewrite is the question with some words deleted and with phrases inserted before some of its words or at its end. A
phrase is a **pattern** with at most one slot (``{}``, ``of {}``, ``{}'s``, ``the``) and the words of the history that
fill the slot. After tag-and-point models of rewriting (Jin et al., "Hierarchical Context Tagging", AAAI 2022).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from convqa.models.kinds.resolver_input import Layout, Word, word_spans
from convqa.models.kinds.resolver_output import LONGEST, SLOT
from convqa.text.analysis import analyzer


@dataclass(frozen=True, slots=True)
class Insertion:
    """A phrase before word ``position`` of the question (its number of words: at the end).

    ``places``: where in ``Layout.history_words`` what fills the slot stands, as first and last word; () without slot.
    """

    position: int
    pattern: str
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Edits:
    """``deleted[i]``: question word i goes; ``terms[j]``: history word j belongs to the rewrite."""

    deleted: tuple[bool, ...]
    insertions: tuple[Insertion, ...]
    terms: tuple[bool, ...]


def find_edits(layout: Layout, rewrite: str) -> Edits:
    """The edits that lead from the question of a layout to its rewrite, as far as the history has the words."""
    own = [_plain(layout.text(word)) for word in layout.question_words]
    spans = word_spans(rewrite)
    wanted = [_plain(rewrite[start:end]) for start, end in spans]
    # The sign at the end says nothing; what is inserted at the end goes before it.
    length = len(own) - (1 if own and not own[-1].isalnum() else 0)
    while wanted and not wanted[-1].isalnum() and wanted[-1] != "'s":
        wanted.pop()
    deleted = [False] * len(own)
    insertions = []
    history = layout.history_words
    said = [_plain(layout.text(word)) for word in history]
    matcher = difflib.SequenceMatcher(None, own[:length], wanted, autojunk=False)
    for tag, i, j, a, b in matcher.get_opcodes():
        if tag != "equal":
            deleted[i:j] = [True] * (j - i)
            if b > a:
                insertions.append(_insertion(i, wanted[a:b], history, said))
    return Edits(tuple(deleted), tuple(insertions), terms_of(layout, rewrite))


def terms_of(layout: Layout, rewrite: str) -> tuple[bool, ...]:
    """Which words of the history stand in the rewrite but not in the question, by stem and without stop words."""
    question = {_stem(_plain(layout.text(word))) for word in layout.question_words}
    wanted = {_stem(_plain(rewrite[start:end])) for start, end in word_spans(rewrite)} - question
    return tuple(
        _tells(plain) and _stem(plain) in wanted for plain in (_plain(layout.text(w)) for w in layout.history_words)
    )


def known_pattern(pattern: str, known: Sequence[str]) -> str | None:
    """The pattern itself if it is known, else the bare slot; None for words that come from nowhere."""
    if pattern in known:
        return pattern
    return SLOT if SLOT in pattern else None


def _insertion(position: int, phrase: list[str], history: Sequence[Word], said: list[str]) -> Insertion:
    for length in range(min(len(phrase), LONGEST), 0, -1):
        for start in range(len(phrase) - length + 1):
            wanted = phrase[start : start + length]
            if not (_tells(wanted[0]) or length > 1) or not any(map(_tells, wanted)):
                continue
            places = _occurrences(wanted, history, said)
            if places:
                pattern = " ".join([*phrase[:start], SLOT, *phrase[start + length :]])
                return Insertion(position, pattern, places)
    return Insertion(position, " ".join(phrase), ())


def _occurrences(wanted: list[str], history: Sequence[Word], said: list[str]) -> tuple[tuple[int, int], ...]:
    length = len(wanted)
    return tuple(
        (at, at + length - 1)
        for at in range(len(said) - length + 1)
        if said[at] == wanted[0]
        and said[at : at + length] == wanted
        and history[at].utterance == history[at + length - 1].utterance
    )


def _plain(word: str) -> str:
    return word.lower().replace("\u2019", "'")


def _tells(word: str) -> bool:
    return word[0].isalnum() and word not in analyzer("en").stopwords and word not in _NAMES_NOTHING


_NAMES_NOTHING = analyzer("en").long_stopwords


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return analyzer("en").stem(word)
