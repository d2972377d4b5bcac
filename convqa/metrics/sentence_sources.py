"""Precision and recall of the sources of sentences, for answers whose sentences are worded differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convqa.metrics.characters import rouge_l
from convqa.metrics.overlap import PrecisionRecallF1, set_scores

Candidate = tuple[float, float | None]
"""Similarity and score; None if the score is unknown."""


class Sourced(NamedTuple):
    """A sentence with the names of its sources."""

    text: str
    sources: frozenset[str]


def sentence_sources(
    predicted: Sequence[Sourced],
    gold: Sequence[Sourced],
) -> PrecisionRecallF1:
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
    precisions = []
    recalls: list[list[Candidate]] = [[] for _ in gold]
    for sentence in predicted:
        candidates: list[Candidate] = []
        for truth, its_candidates in zip(gold, recalls, strict=True):
            similarity = rouge_l(sentence.text, truth.text).f1
            scores = set_scores(sentence.sources, truth.sources)
            its_candidates.append((similarity, scores.recall))
            precision = scores.precision if truth.sources else None
            candidates.append((similarity, precision))
        precisions.append(_with_partner(candidates))
    recalled = []
    for truth, its_candidates in zip(gold, recalls, strict=True):
        if truth.sources:
            recalled.append(_with_partner(its_candidates))
    return PrecisionRecallF1.of(_mean(precisions), _mean(recalled))


def _with_partner(candidates: Sequence[Candidate]) -> float | None:
    """Return the score of the most similar candidate; among equals, an unknown score is preferred to 0."""
    if not candidates:
        return 0.0
    similarity, score = max(candidates, key=_preference)
    return score if similarity else 0.0


def _preference(candidate: Candidate) -> tuple[float, float, bool]:
    similarity, score = candidate
    return similarity, score or 0.0, score is None


def _mean(scores: Sequence[float | None]) -> float:
    known = [score for score in scores if score is not None]
    if not known:
        return 0.0
    return sum(known) / len(known)
