"""The resolver: which words of the history a question needs, and the question rewritten with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.resolver_input import Layout, Past, Word, lay_out
from convqa.models.source import find_model
from convqa.models.types import Choice, Network, NetworkModel, Options, Tokens
from convqa.text.analysis import analyzer
from convqa.text.english import lexicon
from convqa.text.words import listed

SLOT = "{}"
LONGEST = 12
"""Maximum words of a phrase from the history."""

_SEPARATES = (
    lexicon.AUXILIARIES | lexicon.SUBJECT_PRONOUNS | lexicon.QUESTION_WORDS | lexicon.NEGATIONS
    | listed("him her them me us his its their because although while if that there")
)  # fmt: skip
"""Words that no inserted noun phrase contains, because they begin a clause or refer to something themselves."""

_JOINS = listed("and or but of in on at to for from with by as than into about over under between during")
"""Words that neither begin nor end a noun phrase."""

_WITHIN = frozenset('-&/.",')
_POSSESSIVE = frozenset(["'s", "\u2019s", "'", "\u2019"])
"""Signs that may occur within a noun phrase, and those that may also end it."""

_BARRIER, _JOINT, _OPENING, _ENDING, _INNER = range(5)

_STOPWORDS = analyzer("en").long_stopwords

Matrix = NDArray[np.floating[Any]]


class Scores(NamedTuple):
    """The logits of a sequence of n tokens.

    ``terms``: (n,), a word of the history belongs to the rewrite. ``deleted``: (n,), a word of the question is removed.
    ``patterns``: (n, patterns + 1), the insertion before a word of the question; 0 = none. ``starts``, ``ends``:
    (n, n), from a word of the question to the first and last token of the phrase in the slot. ``needs``: (n,), the
    first tells whether the question needs the history at all. Softmax applies to patterns, starts and ends, over the
    last axis.
    """

    terms: Matrix
    deleted: Matrix
    patterns: Matrix
    starts: Matrix
    ends: Matrix
    needs: Matrix


class Edit(NamedTuple):
    """The insertion of ``text`` before word ``position`` of the question; ``words``: those taken from the history."""

    position: int
    text: str
    probability: float
    words: tuple[Word, ...]


def term_probabilities(layout: Layout, scores: Scores) -> list[tuple[Word, float]]:
    """Return each word of the history with the probability that it belongs to the rewrite, in sequence order."""
    needed = _needed(scores)
    return [(word, needed * _sigmoid(float(scores.terms[word.first]))) for word in layout.history_words]


def _needed(scores: Scores) -> float:
    """Return the probability that the question needs the history. All others are conditional on it."""
    return _sigmoid(float(scores.needs[0]))


def edited(layout: Layout, scores: Scores, patterns: Sequence[str], least: float) -> tuple[str, list[Edit]]:
    """Return the self-contained question, and the insertions made.

    :param patterns: the patterns of classes 1, 2, ... :param least: minimum probability of an insertion.
    """
    words, question = layout.question_words, layout.utterances[0]
    edits = _insertions(layout, scores, patterns, least)
    inserts = {edit.position: edit.text for edit in edits}
    text, done, gone, joined = "", 0, False, False
    for index in range(len(words) + 1):
        begin, end = (words[index].start, words[index].end) if index < len(words) else (len(question.rstrip()),) * 2
        if not gone:
            text += _after(question, done, begin, joined)
            joined = joined and not question[done:begin].strip()
        if index in inserts:
            text = _with_phrase(text, inserts[index])
            gone, joined = False, True
        # Words are removed only next to an insertion, so that nothing is lost.
        removed = index < len(words) and _sigmoid(float(scores.deleted[words[index].first])) >= 0.5
        gone = removed and (index in inserts or gone)
        if not gone:
            text += _after(question, begin, end, joined)
            joined = joined and begin == end
        done = end
    return text.strip(), edits


def _with_phrase(text: str, phrase: str) -> str:
    return f"{text.rstrip()}{'' if phrase.startswith(',') or not text.strip() else ' '}{phrase}"


def _after(question: str, begin: int, end: int, joined: bool) -> str:
    """Return a piece of the question; after a phrase (``joined``) with one blank, none before an attached sign."""
    piece = question[begin:end]
    if not joined or not piece.strip():
        return "" if joined else piece
    begin += len(piece) - len(piece.lstrip())
    direct = begin > 0 and not question[begin - 1].isspace() and not question[begin].isalnum()
    return piece.lstrip() if direct else f" {piece.lstrip()}"


def _insertions(layout: Layout, scores: Scores, patterns: Sequence[str], least: float) -> list[Edit]:
    tokens = [word.first for word in layout.question_words] + [layout.end]
    history, needed = layout.history_words, _needed(scores)
    edits = []
    for position, token in enumerate(tokens):
        probabilities = _softmax(scores.patterns[token])
        probability = needed * float(1.0 - probabilities[0])
        if probability < least:
            continue
        pattern = patterns[int(np.argmax(probabilities[1:]))]
        if SLOT not in pattern:
            edits.append(Edit(position, pattern, probability, ()))
        elif best := _best_phrase(layout, history, scores.starts[token], scores.ends[token]):
            text, words, share = best
            if pattern.startswith("{} 's") and text.endswith(("'s", "\u2019s")):
                text = text[:-2]
            if probability * share >= least:
                edits.append(Edit(position, _phrase(pattern, text), probability * share, words))
    return _without_repeats(layout, edits)


def _without_repeats(layout: Layout, edits: Sequence[Edit]) -> list[Edit]:
    """Drop phrases if at least half of their words are in the question or in a more probable edit."""
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
    """Return the most probable noun phrase of the history, its words, and its probability over all occurrences."""
    spans, logits = [], []
    classes = [_class(layout, word) for word in history]
    for begin, word in enumerate(history):
        if classes[begin] not in (_INNER, _OPENING):
            continue
        for end in range(begin, min(begin + LONGEST, len(history))):
            if classes[end] == _BARRIER or history[end].utterance != word.utterance:
                break
            if classes[end] in (_INNER, _ENDING):
                spans.append((begin, end))
                logits.append(float(starts[word.first] + ends[history[end].last]))
    if not spans:
        return None
    totals: dict[str, float] = {}
    first: dict[str, tuple[int, int]] = {}
    for (begin, end), probability in zip(spans, _softmax(np.array(logits)), strict=True):
        phrase = layout.span(history[begin], history[end]).lower()
        totals[phrase] = totals.get(phrase, 0.0) + float(probability)
        first.setdefault(phrase, (begin, end))
    best = max(totals, key=totals.__getitem__)
    begin, end = first[best]
    return layout.span(history[begin], history[end]), tuple(history[begin : end + 1]), totals[best]


def _class(layout: Layout, word: Word) -> int:
    """Return the role that a word of the history can have in a noun phrase."""
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
    """Fill the slot of a pattern, and attach its signs as in written text."""
    for sign in ("'s", "'", ","):
        pattern = pattern.replace(f"{SLOT} {sign}", f"{SLOT}{sign}")
    return pattern.replace('" {} "', '"{}"').replace(SLOT, text)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value)) if value > -700 else 0.0


def _softmax(row: Matrix) -> Matrix:
    exponents = np.exp(row - row.max())
    probabilities: Matrix = exponents / exponents.sum()
    return probabilities


LEAST_TOKENS = 128
"""Minimum ``max_tokens``, which leaves room for a question and the first question of the history."""


class Settings(BaseModel):
    """Manifest fields of resolvers. ``patterns``: possible insertions, with a slot for words of the history."""

    patterns: tuple[str, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The resolver's result for one turn."""

    _layout: Layout = field(repr=False)
    _scores: Scores = field(repr=False)
    _patterns: tuple[str, ...] = field(repr=False)

    @property
    def terms(self) -> list[tuple[str, float]]:
        """Each occurrence of a word in the history, as written, with the probability that the question needs it.

        The oldest exchange comes first, and in each exchange the answer.
        """
        terms = term_probabilities(self._layout, self._scores)
        terms.sort(key=lambda term: (-term[0].utterance, term[0].start))
        return [(self._layout.text(word), probability) for word, probability in terms]

    def text(self, sure: float = 0.2) -> str:
        """Return the self-contained question, the question itself if nothing is missing.

        :param sure: minimum probability of an inserted phrase.
        """
        text, edits = edited(self._layout, self._scores, self._patterns, sure)
        return text if edits else self._layout.utterances[0]


class Resolver(NetworkModel):
    """Resolves questions with their history. Thread-safe."""

    def __init__(self, folder: ModelFolder, choice: Choice, network: Network) -> None:
        super().__init__(folder, choice, network)
        self._tokenizer = network.tokenizer.inner
        self._tokenizer.no_truncation()
        self._patterns = folder.settings(Settings, network.settings).patterns

    def resolve(self, turns: Sequence[tuple[str, Sequence[Past]]]) -> list[Resolution]:
        """Resolve each question with its history, oldest exchange first.

        :raises WorkError: if the model returns invalid numbers.
        """
        layouts = [lay_out(question, history, self._tokenizer, self.max_tokens) for question, history in turns]
        results = self._network.run([Tokens(layout.ids, layout.types) for layout in layouts])
        if any(np.isnan(output).any() for outputs in results for output in outputs):
            raise self.invalid("resolver")
        return [
            Resolution(layout, Scores(*outputs), self._patterns)
            for layout, outputs in zip(layouts, results, strict=True)
        ]


def load_resolver(name: str, options: Options = Options()) -> Resolver:  # noqa: B008 - frozen
    """Load a resolver, once per process.

    :raises InputError: if the model is unknown, damaged, not a resolver, or cannot run with these options.
    """
    folder = find_model(name)
    if folder.manifest is None:
        raise InputError(f"{folder.path}: expected a model made by convqa train resolver, got a model of transformers.")
    return load_once("resolver", folder, options, Resolver)
