"""Removal of sentences that an earlier answer contains, unless the user asks for them again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from convqa.components.history import REACH
from convqa.domain import Rewrite, Span, Turn
from convqa.text.analysis import Analyzer, analyzer_or_words
from convqa.text.sentences import sentences

GOOD = 0.95
"""A new sentence needs this share of the best chosen sentence's score to replace it."""

_SAME_SENTENCE, _SAME_QUESTION = 0.7, 0.8
_AGAIN = re.compile(r"\b(?:again|repeat\w*|once more|nochmals?|noch einmal|wiederhole?n?)\b", re.I)


def without_repeats(chosen: list[Span], spans: Iterable[Span], turn: Turn, rewrite: Rewrite) -> tuple[list[Span], bool]:
    """Return the chosen spans that no earlier answer contains, or else the best other span of that kind.

    If the first of these scores below :data:`GOOD` of the best chosen span, return that one and True.

    :param spans: all spans of the reading, best first, as ``chosen`` is.
    """
    analysis = analyzer_or_words(turn.language)
    earlier = list(_earlier_sentences(turn, rewrite, analysis))

    def is_repeat(span: Span) -> bool:
        tokens = frozenset(analysis.tokens(span.text))
        return any(len(tokens & sentence) > _SAME_SENTENCE * len(tokens) for sentence in earlier)

    new = [span for span in chosen if not is_repeat(span)] or [span for span in spans if not is_repeat(span)][:1]
    again = bool(chosen) and not (new and new[0].score >= GOOD * chosen[0].score)
    return (chosen[:1] if again else new), again


def _earlier_sentences(turn: Turn, rewrite: Rewrite, analysis: Analyzer) -> Iterator[frozenset[str]]:
    """Yield the tokens of each sentence of earlier answers, except answers to the same question."""
    if _AGAIN.search(turn.question):
        return
    asked = [frozenset(analysis.tokens(text)) for text in (turn.question, rewrite.text)]
    for exchange in turn.history[-REACH:]:
        before = [frozenset(analysis.tokens(text)) for text in (exchange.question, exchange.rewrite or "")]
        if exchange.status == "answered" and not any(_same(one, other) for one in asked for other in before):
            for start, end in sentences(exchange.answer, turn.language):
                yield frozenset(analysis.tokens(exchange.answer[start:end]))


def _same(question: frozenset[str], other: frozenset[str]) -> bool:
    return bool(question) and len(question & other) >= _SAME_QUESTION * len(question | other)
