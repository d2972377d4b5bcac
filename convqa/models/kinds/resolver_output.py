"""From the resolver's scores to what they say: which words of the history count, and how the question is edited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from convqa.models.kinds.resolver_input import Layout, Word
from convqa.text.analysis import analyzer

SLOT = "{}"
LONGEST = 12
"""Words of a phrase that is taken from the history at once."""

_CANDIDATES = 20
"""First words of a phrase that are looked at."""

_STOPWORDS = analyzer("en").long_stopwords

Matrix = NDArray[np.floating[Any]]


class Scores(NamedTuple):
    """What the model says of a sequence of n tokens, as logits (with a softmax over the last axis but for the first
    two, which are independent).

    ``terms``: (n,), a word of the history belongs to the rewrite. ``deleted``: (n,), a word of the question goes.
    ``patterns``: (n, patterns + 1), what comes before a word of the question; 0 = nothing. ``starts``, ``ends``:
    (n, n), from a place in the question to the first and last token of what fills the slot there.
    """

    terms: Matrix
    deleted: Matrix
    patterns: Matrix
    starts: Matrix
    ends: Matrix


class Edit(NamedTuple):
    """``text`` comes before word ``position`` of the question; probability of the phrase, and the words it took."""

    position: int
    text: str
    probability: float
    words: tuple[Word, ...]


def term_probabilities(layout: Layout, scores: Scores) -> list[tuple[Word, float]]:
    """How likely each word of the history belongs to the rewrite, in the order of the sequence."""
    return [(word, _sigmoid(float(scores.terms[word.first]))) for word in layout.history_words]


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
    history = layout.history_words
    found = []
    for position, token in enumerate(places):
        chances = _softmax(scores.patterns[token])
        if 1.0 - chances[0] < least:
            continue
        best = int(np.argmax(chances[1:])) + 1
        pattern, probability = patterns[best - 1], float(1.0 - chances[0])
        if SLOT not in pattern:
            found.append(Edit(position, pattern, probability, ()))
        elif history:
            first, last = _best_span(history, scores.starts[token], scores.ends[token])
            taken = tuple(history[first : last + 1])
            text = layout.span(taken[0], taken[-1])
            if pattern.startswith("{} 's") and text.endswith(("'s", "\u2019s")):
                text = text[:-2]
            found.append(Edit(position, _phrase(pattern, text), probability, taken))
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


def _best_span(history: Sequence[Word], starts: Matrix, ends: Matrix) -> tuple[int, int]:
    """First and last word of the best phrase: at most 12 words of one utterance."""
    first = np.array([starts[word.first] for word in history])
    last = np.array([ends[word.last] for word in history])
    best, found = -math.inf, (0, 0)
    for begin in np.argsort(-first, kind="stable")[:_CANDIDATES]:
        end = int(begin)
        while end < len(history) and end - begin < LONGEST and history[end].utterance == history[begin].utterance:
            if first[begin] + last[end] > best:
                best, found = float(first[begin] + last[end]), (int(begin), end)
            end += 1
    return found


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
