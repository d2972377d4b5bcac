"""From the resolver's scores to what they say: which words of the history count, and how the question is edited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from convqa.models.kinds.resolver_input import Layout, Word
from convqa.text.analysis import analyzer
from convqa.text.english import lexicon
from convqa.text.words import listed

SLOT = "{}"
LONGEST = 12
"""Words of a phrase that is taken from the history at once."""

_SEPARATES = (
    lexicon.AUXILIARIES | lexicon.SUBJECT_PRONOUNS | lexicon.QUESTION_WORDS | lexicon.NEGATIONS
    | listed("him her them me us his its their because although while if that there")
)  # fmt: skip
"""No noun phrase that can be put in has one of these words: a clause begins, or it refers to something itself."""

_JOINS = listed("and or but of in on at to for from with by as than into about over under between during")
"""Words that a noun phrase neither begins nor ends with."""

_WITHIN = frozenset('-&/.",')
_POSSESSIVE = frozenset(["'s", "\u2019s", "'", "\u2019"])
"""Signs that may stand within a noun phrase, and those with which it may end, too."""

_BARRIER, _JOINT, _OPENING, _ENDING, _INNER = range(5)

_STOPWORDS = analyzer("en").long_stopwords

Matrix = NDArray[np.floating[Any]]


class Scores(NamedTuple):
    """What the model says of a sequence of n tokens, as logits (with a softmax over the last axis but for the first
    two, which are independent).

    ``terms``: (n,), a word of the history belongs to the rewrite. ``deleted``: (n,), a word of the question goes.
    ``patterns``: (n, patterns + 1), what comes before a word of the question; 0 = nothing. ``starts``, ``ends``:
    (n, n), from a place in the question to the first and last token of what fills the slot there. ``needs``: (n,), of
    which the first says whether the question needs the history at all.
    """

    terms: Matrix
    deleted: Matrix
    patterns: Matrix
    starts: Matrix
    ends: Matrix
    needs: Matrix


class Edit(NamedTuple):
    """``text`` comes before word ``position`` of the question; probability of the phrase, and the words it took."""

    position: int
    text: str
    probability: float
    words: tuple[Word, ...]


def term_probabilities(layout: Layout, scores: Scores) -> list[tuple[Word, float]]:
    """How likely each word of the history belongs to the rewrite, in the order of the sequence."""
    needed = _needed(scores)
    return [(word, needed * _sigmoid(float(scores.terms[word.first]))) for word in layout.history_words]


def _needed(scores: Scores) -> float:
    """The probability that the question needs the history at all. All others are of a question that does."""
    return _sigmoid(float(scores.needs[0]))


def edited(layout: Layout, scores: Scores, patterns: Sequence[str], least: float) -> tuple[str, list[Edit]]:
    """The question as the model would ask it of somebody who has not heard the history.

    :param patterns: of the model, by number from 1. :param least: probability from which on an edit is made.
    """
    words, question = layout.question_words, layout.utterances[0]
    edits = _insertions(layout, scores, patterns, least)
    inserts = {edit.position: edit.text for edit in edits}
    text, at, gone, joined = "", 0, False, False
    for index in range(len(words) + 1):
        begin, end = (words[index].start, words[index].end) if index < len(words) else (len(question.rstrip()),) * 2
        if not gone:
            text += _after(question, at, begin, joined)
            joined = joined and not question[at:begin].strip()
        if index in inserts:
            text = _with_phrase(text, inserts[index])
            gone, joined = False, True
        # Words that go do so only where something comes in their place: nothing that was said is lost.
        removed = index < len(words) and _sigmoid(float(scores.deleted[words[index].first])) >= 0.5
        gone = removed and (index in inserts or gone)
        if not gone:
            text += _after(question, begin, end, joined)
            joined = joined and begin == end
        at = end
    return text.strip(), edits


def _with_phrase(text: str, phrase: str) -> str:
    return f"{text.rstrip()}{'' if phrase.startswith(',') or not text.strip() else ' '}{phrase}"


def _after(question: str, begin: int, end: int, joined: bool) -> str:
    """A piece of the question; behind a phrase (``joined``) with one blank, or none where a sign followed directly."""
    piece = question[begin:end]
    if not joined or not piece.strip():
        return "" if joined else piece
    begin += len(piece) - len(piece.lstrip())
    direct = begin > 0 and not question[begin - 1].isspace() and not question[begin].isalnum()
    return piece.lstrip() if direct else f" {piece.lstrip()}"


def _insertions(layout: Layout, scores: Scores, patterns: Sequence[str], least: float) -> list[Edit]:
    places = [word.first for word in layout.question_words] + [layout.end]
    history, needed = layout.history_words, _needed(scores)
    found = []
    for position, token in enumerate(places):
        chances = _softmax(scores.patterns[token])
        probability = needed * float(1.0 - chances[0])
        if probability < least:
            continue
        pattern = patterns[int(np.argmax(chances[1:]))]
        if SLOT not in pattern:
            found.append(Edit(position, pattern, probability, ()))
        elif best := _best_phrase(layout, history, scores.starts[token], scores.ends[token]):
            text, taken, chance = best
            if pattern.startswith("{} 's") and text.endswith(("'s", "\u2019s")):
                text = text[:-2]
            if probability * chance >= least:
                found.append(Edit(position, _phrase(pattern, text), probability * chance, taken))
    return _once(layout, found)


def _once(layout: Layout, edits: Sequence[Edit]) -> list[Edit]:
    """Without phrases that the question, or a more probable edit, has at least half of the words of already."""
    known = _content(layout, layout.question_words)
    kept = []
    for edit in sorted(edits, key=lambda edit: (-edit.probability, edit.position)):
        words = _content(layout, edit.words)
        if not edit.words or 2 * len(words - known) > len(words):
            kept.append(edit)
            known |= words
    return sorted(kept, key=lambda edit: edit.position)


def _best_phrase(
    layout: Layout, history: Sequence[Word], starts: Matrix, ends: Matrix
) -> tuple[str, tuple[Word, ...], float] | None:
    """The most probable noun phrase of the history, its words and its probability: of all places where it was said."""
    places, logits = [], []
    classes = [_class(layout, word) for word in history]
    for begin, word in enumerate(history):
        if classes[begin] not in (_INNER, _OPENING):
            continue
        for end in range(begin, min(begin + LONGEST, len(history))):
            if classes[end] == _BARRIER or history[end].utterance != word.utterance:
                break
            if classes[end] in (_INNER, _ENDING):
                places.append((begin, end))
                logits.append(float(starts[word.first] + ends[history[end].last]))
    if not places:
        return None
    chances: dict[str, float] = {}
    first: dict[str, tuple[int, int]] = {}
    for (begin, end), chance in zip(places, _softmax(np.array(logits)), strict=True):
        plain = layout.span(history[begin], history[end]).lower()
        chances[plain] = chances.get(plain, 0.0) + float(chance)
        first.setdefault(plain, (begin, end))
    best = max(chances, key=lambda plain: chances[plain])
    begin, end = first[best]
    return layout.span(history[begin], history[end]), tuple(history[begin : end + 1]), chances[best]


def _class(layout: Layout, word: Word) -> int:
    """What a word of the history may be in a noun phrase."""
    plain = layout.text(word).lower()
    if plain in _POSSESSIVE:
        return _ENDING
    if plain in _SEPARATES or (not plain[0].isalnum() and plain not in _WITHIN):
        return _BARRIER
    if plain in lexicon.ARTICLES:
        return _OPENING
    return _JOINT if plain in _JOINS or not plain[0].isalnum() else _INNER


def _content(layout: Layout, words: Sequence[Word]) -> set[str]:
    texts = (layout.text(word).lower() for word in words)
    return {text for text in texts if len(text) > 1 and text[0].isalnum() and text not in _STOPWORDS}


def _phrase(pattern: str, text: str) -> str:
    """A pattern with its slot filled; its own signs stand as they are written: a blank before none but a quote."""
    for sign in ("'s", "'", ","):
        pattern = pattern.replace(f"{SLOT} {sign}", f"{SLOT}{sign}")
    return pattern.replace('" {} "', '"{}"').replace(SLOT, text)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value)) if value > -700 else 0.0


def _softmax(row: Matrix) -> Matrix:
    exponents = np.exp(row - row.max())
    chances: Matrix = exponents / exponents.sum()
    return chances
