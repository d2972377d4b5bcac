"""The resolver: which words of the history a question needs, and the question rewritten with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from convqa.models.engines import load_once
from convqa.models.folder import ModelFolder
from convqa.models.kinds.resolver_input import LayoutWord, Past, TurnLayout, lay_out
from convqa.models.types import Choice, Network, NetworkModel, Options, TokenSequence
from convqa.text.analysis import analyzer
from convqa.text.english import lexicon
from convqa.text.words import listed

SLOT = "{}"

MAX_PHRASE_WORDS = 12
"""Maximum words of a phrase from the history."""

MIN_TOKENS = 128
"""Minimum ``max_tokens``, which leaves room for a question and the first question of the history."""

_SEPARATES = lexicon.AUXILIARIES | lexicon.SUBJECT_PRONOUNS | lexicon.QUESTION_WORDS | lexicon.NEGATIONS
_SEPARATES |= listed("him her them me us his its their because although while if that there")
"""Words that no inserted noun phrase contains, because they begin a clause or refer to something themselves."""

_NOT_FIRST = _SEPARATES | listed(
    "and or but of in on at to for from with by as than into about over under between during"
)
_NOT_LAST = _NOT_FIRST | lexicon.ARTICLES | listed("v vs mr mrs ms dr prof mt")
"""Words with which no noun phrase begins or ends."""

_POSSESSIVE = frozenset(["'s", "\u2019s", "'", "\u2019"])
_SIGNS = _POSSESSIVE | frozenset('-&/.",')
"""Signs that may end a noun phrase, and those that may occur within it."""

_STOPWORDS = analyzer("en").long_stopwords

Matrix = NDArray[np.floating[Any]]


class ResolverLogits(NamedTuple):
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


class PhraseInsertion(NamedTuple):
    """The insertion of ``text`` before word ``position`` of the question; ``words``: those taken from the history."""

    position: int
    text: str
    probability: float
    words: tuple[LayoutWord, ...]


def _edited(
    layout: TurnLayout,
    deleted: Matrix,
    insertions: Sequence[PhraseInsertion],
) -> str:
    """Return the question with insertions, and without the deleted words next to them."""
    question = layout.utterances[0]
    phrases = {insertion.position: insertion.text for insertion in insertions}
    spans = [(word.start, word.end) for word in layout.question_words]
    is_deleted = [_is_deleted(deleted, word) for word in layout.question_words]
    # After the last word, there is only a place for an insertion.
    length = len(question.rstrip())
    spans.append((length, length))
    is_deleted.append(False)
    text = ""
    previous_end = 0
    is_removing = False
    follows_phrase = False
    for position, (start, end) in enumerate(spans):
        if not is_removing:
            text += _piece(question, previous_end, start, follows_phrase)
            follows_phrase = follows_phrase and not question[previous_end:start].strip()
        if position in phrases:
            text = _with_phrase(text, phrases[position])
            follows_phrase = True
        # Words are removed only next to an insertion, so that nothing is lost.
        is_removing = is_deleted[position] and (is_removing or position in phrases)
        if not is_removing:
            text += _piece(question, start, end, follows_phrase)
            follows_phrase = follows_phrase and start == end
        previous_end = end
    return text.strip()


def _is_deleted(deleted: Matrix, word: LayoutWord) -> bool:
    return _sigmoid(deleted[word.first]) >= 0.5


def _with_phrase(text: str, phrase: str) -> str:
    if phrase.startswith(",") or not text.strip():
        return text.rstrip() + phrase
    return f"{text.rstrip()} {phrase}"


def _piece(question: str, start: int, end: int, follows_phrase: bool) -> str:
    """Return a piece of the question; after a phrase with one blank, none before an attached sign."""
    piece = question[start:end]
    if not follows_phrase:
        return piece
    stripped = piece.lstrip()
    if not stripped:
        return ""
    first = end - len(stripped)
    is_attached = first > 0 and not question[first - 1].isspace() and not question[first].isalnum()
    return stripped if is_attached else f" {stripped}"


def _without_repeats(layout: TurnLayout, insertions: Sequence[PhraseInsertion]) -> list[PhraseInsertion]:
    """Drop phrases if at least half of their words are in the question or in a more probable insertion."""
    known = _content_words(layout, layout.question_words)
    kept = []
    for insertion in sorted(insertions, key=lambda insertion: (-insertion.probability, insertion.position)):
        words = _content_words(layout, insertion.words)
        if not insertion.words or 2 * len(words - known) > len(words):
            kept.append(insertion)
            known |= words
    return sorted(kept, key=lambda insertion: insertion.position)


def _best_phrase(
    layout: TurnLayout,
    starts: Matrix,
    ends: Matrix,
) -> tuple[tuple[LayoutWord, ...], float] | None:
    """Return the words of the most probable noun phrase of the history, with its probability over all occurrences."""
    spans = _noun_phrases(layout)
    if not spans:
        return None
    logits = [float(starts[words[0].first] + ends[words[-1].last]) for words in spans]
    probabilities: dict[str, float] = {}
    words_of: dict[str, tuple[LayoutWord, ...]] = {}
    shares = _softmax(np.array(logits))
    for words, probability in zip(spans, shares, strict=True):
        key = layout.span(words[0], words[-1]).lower()
        probabilities[key] = probabilities.get(key, 0.0) + float(probability)
        words_of.setdefault(key, words)
    best = max(probabilities, key=probabilities.__getitem__)
    return words_of[best], probabilities[best]


def _noun_phrases(layout: TurnLayout) -> list[tuple[LayoutWord, ...]]:
    """Return the words of every noun phrase of the history."""
    history = layout.history_words
    texts = [layout.text(word).lower() for word in history]
    phrases = []
    for start, word in enumerate(history):
        if not _is_word(texts[start], _NOT_FIRST):
            continue
        for end in range(start, min(start + MAX_PHRASE_WORDS, len(history))):
            text = texts[end]
            if history[end].utterance != word.utterance:
                break
            if text not in _SIGNS and not _is_word(text, _SEPARATES):
                break
            if text in _POSSESSIVE or _is_word(text, _NOT_LAST):
                phrases.append(tuple(history[start : end + 1]))
    return phrases


def _is_word(text: str, others: frozenset[str]) -> bool:
    """Return whether a text is a word rather than a sign, and none of the others."""
    return text[0].isalnum() and text not in others


def _content_words(layout: TurnLayout, words: Sequence[LayoutWord]) -> set[str]:
    texts = {layout.text(word).lower() for word in words}
    return {text for text in texts if len(text) > 1 and _is_word(text, _STOPWORDS)}


def _filled(pattern: str, text: str) -> str:
    """Fill the slot of a pattern, and attach its signs as in written text."""
    if pattern.startswith("{} 's") and text.endswith(("'s", "\u2019s")):
        text = text[:-2]
    for sign in ("'s", "'", ","):
        pattern = pattern.replace(f"{SLOT} {sign}", f"{SLOT}{sign}")
    return pattern.replace('" {} "', '"{}"').replace(SLOT, text)


def _sigmoid(logit: float) -> float:
    if logit <= -700:
        return 0.0
    return 1.0 / (1.0 + math.exp(-float(logit)))


def _softmax(row: Matrix) -> Matrix:
    exponents = np.exp(row - row.max())
    probabilities: Matrix = exponents / exponents.sum()
    return probabilities


class ResolverFields(BaseModel):
    """Manifest fields of resolvers. ``patterns``: possible insertions, with a slot for words of the history."""

    patterns: tuple[str, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The resolver's result for one turn."""

    _layout: TurnLayout = field(repr=False)
    _logits: ResolverLogits = field(repr=False)
    _patterns: Sequence[str] = field(repr=False)

    @property
    def terms(self) -> list[tuple[str, float]]:
        """Each occurrence of a word in the history, as written, with the probability that the question needs it.

        The oldest exchange comes first, and in each exchange the answer.
        """
        words = sorted(self._layout.history_words, key=lambda word: (-word.utterance, word.start))
        return [(self._layout.text(word), self._needed * _sigmoid(self._logits.terms[word.first])) for word in words]

    def text(self, sure: float = 0.2, only_replace: bool = False) -> str:
        """Return the self-contained question, the question itself if nothing is missing.

        :param sure: minimum probability of an inserted phrase.
        :param only_replace: whether phrases are only inserted in place of words of the question, such as pronouns.
        """
        insertions = _without_repeats(self._layout, self._insertions(sure))
        if only_replace:
            words = self._layout.question_words
            insertions = [
                insertion
                for insertion in insertions
                if insertion.position < len(words) and _is_deleted(self._logits.deleted, words[insertion.position])
            ]
        if not insertions:
            return self._layout.utterances[0]
        return _edited(self._layout, self._logits.deleted, insertions)

    @property
    def _needed(self) -> float:
        """The probability that the question needs the history. All others are conditional on it."""
        return _sigmoid(self._logits.needs[0])

    def _insertions(self, sure: float) -> list[PhraseInsertion]:
        """Return the insertions that are probable enough."""
        tokens = [word.first for word in self._layout.question_words] + [self._layout.end]
        insertions = []
        for position, token in enumerate(tokens):
            probabilities = _softmax(self._logits.patterns[token])
            probability = self._needed * float(1.0 - probabilities[0])
            if probability < sure:
                continue
            pattern = self._patterns[int(np.argmax(probabilities[1:]))]
            if SLOT not in pattern:
                insertions.append(PhraseInsertion(position, pattern, probability, ()))
                continue
            phrase = _best_phrase(
                self._layout,
                self._logits.starts[token],
                self._logits.ends[token],
            )
            if phrase is None:
                continue
            words, share = phrase
            if probability * share >= sure:
                text = _filled(pattern, self._layout.span(words[0], words[-1]))
                insertions.append(PhraseInsertion(position, text, probability * share, words))
        return insertions


class Resolver(NetworkModel):
    """Resolves questions with their history. Thread-safe."""

    def __init__(
        self,
        folder: ModelFolder,
        choice: Choice,
        network: Network,
    ) -> None:
        super().__init__(folder, choice, network)
        self._tokenizer = network.tokenizer.inner
        self._tokenizer.no_truncation()
        self._patterns = folder.settings(ResolverFields, network.settings).patterns

    def resolve(self, turns: Sequence[tuple[str, Sequence[Past]]]) -> list[Resolution]:
        """Resolve each question with its history, oldest exchange first.

        :raises WorkError: if the model returns invalid numbers.
        """
        layouts = [lay_out(question, history, self._tokenizer, self.max_tokens) for question, history in turns]
        results = self.outputs([TokenSequence(layout.ids, layout.types) for layout in layouts])
        return [
            Resolution(layout, ResolverLogits(*outputs), self._patterns)
            for layout, outputs in zip(layouts, results, strict=True)
        ]


def load_resolver(name: str, options: Options = Options()) -> Resolver:  # noqa: B008 - frozen
    """Load a resolver, once per process.

    :raises InputError: if the model is unknown, damaged, not a resolver, or cannot run with these options.
    """
    return load_once("resolver", name, options, Resolver)
