"""Whether each sentence of an answer has the right sources, where the answers' sentences are worded differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convqa.metrics.characters import rouge_l
from convqa.metrics.citations import PrecisionRecallF1, set_scores


class Sourced(NamedTuple):
    """A sentence with the names of its sources."""

    text: str
    sources: frozenset[str]


def sentence_sources(predicted: Sequence[Sourced], gold: Sequence[Sourced]) -> PrecisionRecallF1:
    """Precision over the predicted sentences, recall over the gold ones, each against its partner on the other side.

    The partner is the sentence with the largest character ROUGE-L (F1); of equal ones that with which it scores best.
    A sentence that shares no character with any has none and scores 0. A gold sentence without sources does not say
    what would be right: neither it nor the predicted ones whose partner it is count. Any other predicted sentence
    without sources scores 0. Where no sentence of a side counts, its score is 0.

    >>> gold = [Sourced("東京は首都。", frozenset({"東京"})), Sourced("大阪は府。", frozenset({"大阪", "府"}))]
    >>> said = [Sourced("首都は東京。", frozenset({"東京"})), Sourced("大阪は府です。", frozenset({"大阪", "京都"}))]
    >>> sentence_sources(said, gold)
    PrecisionRecallF1(precision=0.75, recall=0.75, f1=0.75)

    :raises ValueError: if no gold sentence has sources.
    """
    if not any(sentence.sources for sentence in gold):
        raise ValueError("sources by sentence need at least one gold sentence that has some")
    alike = [[rouge_l(said.text, wanted.text).f1 for wanted in gold] for said in predicted]
    scores = [[set_scores(said.sources, wanted.sources) for wanted in gold] for said in predicted]
    right = [
        _with_partner(row, [one.precision if wanted.sources else None for one, wanted in zip(of, gold, strict=True)])
        for of, row in zip(scores, alike, strict=True)
    ]
    found = [
        _with_partner([row[place] for row in alike], [row[place].recall for row in scores])
        for place, wanted in enumerate(gold)
        if wanted.sources
    ]
    return PrecisionRecallF1.of(_mean(right), _mean(found))


def _with_partner(alike: Sequence[float], scores: Sequence[float | None]) -> float | None:
    """The score with the partner, None where it is not known. Among equals none known is better than 0."""
    pairs = zip(alike, scores, strict=True)
    likeness, score = max(pairs, key=lambda pair: (pair[0], pair[1] or 0.0, pair[1] is None), default=(0.0, 0.0))
    return score if likeness else 0.0


def _mean(scores: Sequence[float | None]) -> float:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else 0.0
