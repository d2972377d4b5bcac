"""Lay out a question and its history as a sequence of tokens, the input of the resolver in training and inference.

The sequence is ``[CLS] question [SEP] latest question [SEP] its answer [SEP] ... [SEP] first question [SEP]``. The
latest exchange comes first, because questions refer to it most. The first question is always kept, because it names the
topic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from convqa.files import replace_surrogates

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LANGUAGE = "en"
"""The only language with training data (docs/reference/training.md)."""

MOST_TOKENS = 192
_MOST_QUESTION, _MOST_EARLIER_QUESTION, _MOST_ANSWER = 64, 32, 48
_LEAST = 8
"""Minimum room in tokens for another utterance."""

_WORD = re.compile(r"'s\b|\u2019s\b|[^\W_]+|[^\w\s]|_")


class Past(NamedTuple):
    """An exchange of the history: the user's question and the system's answer; either may be empty."""

    question: str
    answer: str = ""


class Word(NamedTuple):
    """A word: its utterance, its offsets there, and its first and last token in the sequence."""

    utterance: int
    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A sequence. ``utterances[0]`` is the question; ``end`` is the index of the separator after it.

    ``words``: the words of the question, then those of the history, in the order of the sequence.
    """

    ids: list[int]
    types: list[int]
    utterances: list[str]
    words: list[Word]
    end: int

    @property
    def question_words(self) -> list[Word]:
        return [word for word in self.words if word.utterance == 0]

    @property
    def history_words(self) -> list[Word]:
        return [word for word in self.words if word.utterance > 0]

    def text(self, word: Word) -> str:
        return self.utterances[word.utterance][word.start : word.end]

    def span(self, first: Word, last: Word) -> str:
        """Return the text from one word to another of the same utterance."""
        return self.utterances[first.utterance][first.start : last.end]


def lay_out(question: str, history: Sequence[Past], tokenizer: Tokenizer, most: int = MOST_TOKENS) -> Layout:
    """Return the sequence of a turn, with at most ``most`` tokens. ``history`` is oldest first.

    Blank utterances are omitted; lone surrogates count as U+FFFD.
    """
    opening, separator = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    assert opening is not None and separator is not None
    question = replace_surrogates(question)
    history = [Past(replace_surrogates(past.question), replace_surrogates(past.answer)) for past in history]
    layout = Layout([opening], [0], [], [], 0)
    _append(layout, question, tokenizer, _MOST_QUESTION, separator, 0)
    end = len(layout.ids) - 1
    first = tokenizer.encode(history[0].question, add_special_tokens=False) if history else None
    kept = max(_LEAST, min(len(first.ids), _MOST_EARLIER_QUESTION) + 1) if first else 0
    for index in range(len(history) - 1, -1, -1):
        for text, longest in zip(history[index], (_MOST_EARLIER_QUESTION, _MOST_ANSWER), strict=True):
            room = most - len(layout.ids) - (kept if index else 0)
            if text.strip() and room >= _LEAST:
                _append(layout, text, tokenizer, min(longest, room - 1), separator, 1)
    return Layout(layout.ids, layout.types, layout.utterances, layout.words, end)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the words of a text: letters and digits, a possessive 's, or a single sign.

    >>> text = "Zappa's band?"
    >>> [text[start:end] for start, end in word_spans(text)]
    ['Zappa', "'s", 'band', '?']
    """
    return [match.span() for match in _WORD.finditer(text)]


def _append(layout: Layout, text: str, tokenizer: Tokenizer, most: int, separator: int, kind: int) -> None:
    """Add an utterance and its separator. Words without a remaining token are dropped."""
    # Truncated before it is tokenized: no token has more than 18 characters.
    read = text[: most * 18]
    encoding = tokenizer.encode(read, add_special_tokens=False)
    ids, offsets = encoding.ids[:most], encoding.offsets[:most]
    base, utterance = len(layout.ids), len(layout.utterances)
    layout.utterances.append(text)
    token = 0
    for start, end in word_spans(read):
        while token < len(offsets) and offsets[token][1] <= start:
            token += 1
        last = token
        while last + 1 < len(offsets) and offsets[last + 1][0] < end:
            last += 1
        if token < len(offsets) and offsets[token][0] < end:
            layout.words.append(Word(utterance, start, end, base + token, base + last))
    layout.ids.extend([*ids, separator])
    layout.types.extend([kind] * (len(ids) + 1))
