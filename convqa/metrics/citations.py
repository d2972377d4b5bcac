"""Measures of citations: cited ids and quotes against gold ones, and the validity of citations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from convqa.metrics.overlap import PrecisionRecallF1
from convqa.metrics.squad import normalize


class Cited(NamedTuple):
    """A citation. ``text`` is its quote, the whole passage if it has no offsets; ``sentence`` is that of the answer."""

    passage_id: str
    start: int | None
    end: int | None
    text: str
    sentence: str | None = None


def quote_scores(
    quotes: Collection[str],
    gold: Collection[str],
) -> PrecisionRecallF1:
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
        if 2 * sum(runs) >= len(quote):
            right += 1
        longest = list(map(max, longest, runs))
    found = 0
    for run, sentence in zip(longest, sentences, strict=True):
        if 2 * run >= len(sentence):
            found += 1
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
    start = citation.start
    end = citation.end
    if citation.passage_id not in passages:
        return False
    if not citation.text.strip():
        return False
    if start is None or end is None:
        return start == end
    return start >= 0 and len(citation.text) == end - start


def _distinct_words(texts: Collection[str]) -> list[list[str]]:
    normalized = dict.fromkeys(map(normalize, texts))
    return [text.split() for text in normalized if text]


def _run(quote: Sequence[str], sentence: Sequence[str]) -> int:
    """Return the length of the longest common run of words; 0 if it is under half of the shorter text."""
    matcher = SequenceMatcher(None, quote, sentence, autojunk=False)
    run = matcher.find_longest_match().size
    shorter = min(len(quote), len(sentence))
    if 2 * run < shorter:
        return 0
    return run
