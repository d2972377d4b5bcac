"""Precision and recall of the sources of sentences, for answers whose sentences are worded differently."""

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
    """Precision over the predicted sentences and recall over the gold ones, each compared with its partner.

    The partner is the sentence of the other answer with the largest character ROUGE-L (F1), among equals the one with
    the best score. A sentence that shares no character with any has no partner and scores 0. Gold sentences without
    sources do not count, nor do predicted sentences whose partner they are; any other predicted sentence without
    sources scores 0. The score is 0 if no sentence of a side counts.

    >>> gold = [Sourced("東京は首都。", frozenset({"東京"})), Sourced("大阪は府。", frozenset({"大阪", "府"}))]
    >>> said = [Sourced("首都は東京。", frozenset({"東京"})), Sourced("大阪は府です。", frozenset({"大阪", "京都"}))]
    >>> sentence_sources(said, gold)
    PrecisionRecallF1(precision=0.75, recall=0.75, f1=0.75)
    """
    similarities = [[rouge_l(sentence.text, truth.text).f1 for truth in gold] for sentence in predicted]
    scores = [[set_scores(sentence.sources, truth.sources) for truth in gold] for sentence in predicted]
    precisions = []
    for row, similar in zip(scores, similarities, strict=True):
        known = [score.precision if truth.sources else None for score, truth in zip(row, gold, strict=True)]
        precisions.append(_with_partner(similar, known))
    recalls = [
        _with_partner([row[index] for row in similarities], [row[index].recall for row in scores])
        for index, truth in enumerate(gold)
        if truth.sources
    ]
    return PrecisionRecallF1.of(_mean(precisions), _mean(recalls))


def _with_partner(similarities: Sequence[float], scores: Sequence[float | None]) -> float | None:
    """Return the score with the partner, None if unknown. Among equals, an unknown score is preferred to 0."""
    pairs = zip(similarities, scores, strict=True)
    similarity, score = max(pairs, key=lambda pair: (pair[0], pair[1] or 0.0, pair[1] is None), default=(0.0, 0.0))
    return score if similarity else 0.0


def _mean(scores: Sequence[float | None]) -> float:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else 0.0
