"""Measures of citations: cited ids and quotes against gold ones, and the validity of citations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from convqa.metrics.squad import normalize


class PrecisionRecallF1(NamedTuple):
    """Precision, recall and F1, from 0 to 1."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, precision: float, recall: float) -> PrecisionRecallF1:
        """Add the harmonic mean, 0 if both are 0."""
        total = precision + recall
        return cls(precision, recall, 2 * precision * recall / total if total else 0.0)


class Cited(NamedTuple):
    """A citation. ``text`` is its quote, the whole passage if it has no offsets; ``sentence`` is that of the answer."""

    passage_id: str
    start: int | None
    end: int | None
    text: str
    sentence: str | None = None


def set_scores(predicted: Collection[str], gold: Collection[str]) -> PrecisionRecallF1:
    """Precision, recall and F1 of a set. All are 1 if both sets are empty, and 0 if one is.

    >>> set_scores({"a", "b"}, {"a", "c", "d"})
    PrecisionRecallF1(precision=0.5, recall=0.3333333333333333, f1=0.4)
    >>> set_scores([], [])
    PrecisionRecallF1(precision=1.0, recall=1.0, f1=1.0)
    """
    predicted, gold = set(predicted), set(gold)
    if not predicted or not gold:
        same = float(predicted == gold)
        return PrecisionRecallF1(same, same, same)
    shared = len(predicted & gold)
    return PrecisionRecallF1.of(shared / len(predicted), shared / len(gold))


def quote_scores(quotes: Collection[str], gold: Collection[str]) -> PrecisionRecallF1:
    """Precision, recall and F1 of distinct quotes against gold sentences, by longest common runs of SQuAD's words.

    A gold sentence is found if a quote shares a run of at least half of its words. A quote is right if at least half
    of its words are in runs shared with gold sentences. A run must be at least half of the shorter text, so that a few
    common words do not count. Empty collections are as in ``set_scores``.

    >>> quote_scores(["It has a double coat , soft and long .", "Cats sleep a lot ."], ["It has a double coat ,"])
    PrecisionRecallF1(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    quoted = _distinct_words(quotes)
    sentences = _distinct_words(gold)
    if not quoted or not sentences:
        same = float(quoted == sentences)
        return PrecisionRecallF1(same, same, same)
    right = 0
    longest = [0] * len(sentences)
    for quote in quoted:
        runs = [_run(quote, sentence) for sentence in sentences]
        right += 2 * sum(runs) >= len(quote)
        longest = [max(pair) for pair in zip(longest, runs, strict=True)]
    found = sum(2 * run >= len(sentence) for run, sentence in zip(longest, sentences, strict=True))
    return PrecisionRecallF1.of(right / len(quoted), found / len(sentences))


def validity(citations: Sequence[Cited], passages: Collection[str]) -> float:
    """Share of valid citations; 1 without citations.

    A valid citation names a passage of the turn, and its quote is not blank and as long as its offsets require.

    :param passages: the ids of the passages that the turn retrieved.

    >>> validity([Cited("a", 4, 8, "Lane"), Cited("b", 0, 4, "Lois")], ["a"])
    0.5
    """
    if not citations:
        return 1.0
    valid = [citation for citation in citations if _is_valid(citation, passages)]
    return len(valid) / len(citations)


def _is_valid(citation: Cited, passages: Collection[str]) -> bool:
    if citation.passage_id not in passages or not citation.text.strip():
        return False
    if citation.start is None or citation.end is None:
        return citation.start == citation.end
    return citation.start >= 0 and len(citation.text) == citation.end - citation.start


def _distinct_words(texts: Collection[str]) -> list[list[str]]:
    normalized = dict.fromkeys(normalize(text) for text in texts)
    return [text.split() for text in normalized if text]


def _run(quote: Sequence[str], sentence: Sequence[str]) -> int:
    """Return the length of the longest common run of words; 0 if it is under half of the shorter text."""
    matcher = SequenceMatcher(None, quote, sentence, autojunk=False)
    run = matcher.find_longest_match().size
    shorter = min(len(quote), len(sentence))
    return run if 2 * run >= shorter else 0
