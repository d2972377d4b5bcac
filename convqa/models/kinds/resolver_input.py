"""Lay out a question and its history as a sequence of tokens, the input of the resolver in training and inference.

The sequence is ``[CLS] question [SEP] latest question [SEP] its answer [SEP] ... [SEP] first question [SEP]``. The
latest exchange comes first, because questions refer to it most. The first question is always kept, because it names the
topic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from convqa.files import replace_surrogates

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LANGUAGE = "en"
"""The only language with training data (docs/reference/training.md)."""

MAX_TOKENS = 192
_MAX_QUESTION_TOKENS = 64
_MAX_EARLIER_QUESTION_TOKENS = 32
_MAX_ANSWER_TOKENS = 48

_MIN_ROOM = 8
"""Minimum room in tokens for another utterance."""

_MAX_TOKEN_CHARS = 18
"""No token of the vocabulary is longer."""

_WORD = re.compile(r"'s\b|\u2019s\b|[^\W_]+|[^\w\s]|_")


class Past(NamedTuple):
    """An exchange of the history: the user's question and the system's answer; either may be empty."""

    question: str
    answer: str = ""


class LayoutWord(NamedTuple):
    """A word: its utterance, its offsets there, and its first and last token in the sequence."""

    utterance: int
    start: int
    end: int
    first: int
    last: int


@dataclass(slots=True)
class TurnLayout:
    """A sequence. ``utterances[0]`` is the question; ``end`` is the index of the separator after it.

    ``words``: the words of the question, then those of the history, in the order of the sequence.
    """

    ids: list[int]
    types: list[int]
    utterances: list[str] = field(default_factory=list)
    words: list[LayoutWord] = field(default_factory=list)
    end: int = 0

    @property
    def question_words(self) -> list[LayoutWord]:
        return [word for word in self.words if word.utterance == 0]

    @property
    def history_words(self) -> list[LayoutWord]:
        return [word for word in self.words if word.utterance > 0]

    def text(self, word: LayoutWord) -> str:
        return self.utterances[word.utterance][word.start : word.end]

    def span(self, first: LayoutWord, last: LayoutWord) -> str:
        """Return the text from one word to another of the same utterance."""
        return self.utterances[first.utterance][first.start : last.end]


def lay_out(
    question: str,
    history: Sequence[Past],
    tokenizer: Tokenizer,
    most: int = MAX_TOKENS,
) -> TurnLayout:
    """Return the sequence of a turn, with at most ``most`` tokens. ``history`` is oldest first.

    Blank utterances are omitted; lone surrogates count as U+FFFD.
    """
    opening = tokenizer.token_to_id("[CLS]")
    assert opening is not None
    layout = TurnLayout([opening], [0])
    _append(
        layout,
        replace_surrogates(question),
        tokenizer,
        _MAX_QUESTION_TOKENS,
    )
    layout.end = len(layout.ids) - 1
    reserved = 0
    if history:
        first = tokenizer.encode(replace_surrogates(history[0].question), add_special_tokens=False)
        reserved = max(_MIN_ROOM, min(len(first.ids), _MAX_EARLIER_QUESTION_TOKENS) + 1)
    for index in reversed(range(len(history))):
        if index == 0:
            reserved = 0
        past = history[index]
        for text, longest in ((past.question, _MAX_EARLIER_QUESTION_TOKENS), (past.answer, _MAX_ANSWER_TOKENS)):
            room = most - len(layout.ids) - reserved
            if text.strip() and room >= _MIN_ROOM:
                _append(
                    layout,
                    replace_surrogates(text),
                    tokenizer,
                    min(longest, room - 1),
                )
    return layout


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the words of a text: letters and digits, a possessive 's, or a single sign.

    >>> text = "Zappa's band?"
    >>> [text[start:end] for start, end in word_spans(text)]
    ['Zappa', "'s", 'band', '?']
    """
    return [match.span() for match in _WORD.finditer(text)]


def _append(
    layout: TurnLayout,
    text: str,
    tokenizer: Tokenizer,
    most: int,
) -> None:
    """Add an utterance and its separator. Words without a remaining token are dropped."""
    separator = tokenizer.token_to_id("[SEP]")
    assert separator is not None
    beginning = text[: most * _MAX_TOKEN_CHARS]
    encoding = tokenizer.encode(beginning, add_special_tokens=False)
    ids = encoding.ids[:most]
    offsets = encoding.offsets[:most]
    utterance = len(layout.utterances)
    base = len(layout.ids)
    token = 0
    for start, end in word_spans(beginning):
        while token < len(offsets) and offsets[token][1] <= start:
            token += 1
        last = token
        while last + 1 < len(offsets) and offsets[last + 1][0] < end:
            last += 1
        if token < len(offsets) and offsets[token][0] < end:
            layout.words.append(LayoutWord(utterance, start, end, base + token, base + last))
    layout.utterances.append(text)
    layout.ids += [*ids, separator]
    layout.types += [0 if utterance == 0 else 1] * (len(ids) + 1)
