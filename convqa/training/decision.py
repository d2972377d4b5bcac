"""The recipe ``decision``: a logistic regression that predicts whether a pipeline's passages answer the question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import yaml

from convqa.components.deciders.logistic import Decision, Weight, cosine, signals
from convqa.components.encoding import QueryEncoder
from convqa.driver.waves import BATCH_SIZE, answer
from convqa.errors import InputError, ordinary_errors
from convqa.files import read_json
from convqa.indexing import collection_of
from convqa.metrics.answerability import auc
from convqa.pipeline.load import load
from convqa.tasks import find_task
from convqa.training.config import DecisionSettings
from convqa.training.heads import logistic
from convqa.training.train import Recipe, Scores

OVER = " over "
"""Joins two sets: the questions of the first, asked of the passages of the second, which answer none of them."""


@dataclass(frozen=True)
class SignalRow:
    """A turn: its set, its conversation's number, whether its passages answer it, and its signals."""

    set: str
    number: int
    answerable: bool
    signals: Mapping[str, float | None]


class DecisionTraining(Recipe):
    """Fit on conversations with numbers 2 modulo 4, set thresholds on those with 0, and report on odd numbers."""

    settings: DecisionSettings

    def fit(self) -> None:
        data = self.bench.data
        self.queries = QueryEncoder(self.settings.base)
        self.rows: list[SignalRow] = []
        for name in self.settings.conversations:
            self.rows += self._answered(name, data)
        fitting = [row for row in self.rows if row.number % 4 == 2]
        choosing = [row for row in self.rows if row.number % 4 == 0]
        for part in (fitting, choosing):
            if {row.answerable for row in part} != {True, False}:
                raise InputError(
                    f"{data}: expected turns with and without an answer, in conversations of 0 and 2 modulo 4."
                )
        decision = fit(fitting, self.settings.signals)
        own_passages = [row for row in choosing if OVER not in row.set]
        threshold = chosen(own_passages, lambda row: decision.weigh(row.signals))
        about = {
            "threshold": round(threshold, 2),
            "sure_threshold": surely([(decision.weigh(row.signals), row.answerable) for row in choosing]),
            "encoder": self.queries.model.family,
        }
        self.decision = decision.model_copy(update=about)

    def validate(self) -> Scores:
        reported = [row for row in self.rows if row.number % 2 == 1]
        weights = [self.decision.weigh(row.signals) for row in reported]
        labels = [row.answerable for row in reported]
        report = {"turns": float(len(reported))}
        if len(set(labels)) == 2:
            report["AUC"] = auc(weights, labels)
        for label in (True, False):
            refused = [
                weight < self.decision.threshold
                for weight, known in zip(weights, labels, strict=True)
                if known == label
            ]
            if refused:
                report[f"refused, answerable {label}"] = float(np.mean(refused))
        return {"report": report}

    def export(self, scores: Scores, target: Path) -> None:
        """Write ``decision.yaml``, which ``decider.decision`` names."""
        about = {
            "by": "convqa train decision",
            "settings": self.settings.model_dump(mode="json"),
            "report": scores,
        }
        decision = self.decision.model_copy(update={"fitted": about})
        text = yaml.safe_dump(decision.model_dump(exclude_defaults=True), sort_keys=False)
        target.mkdir()
        (target / "decision.yaml").write_text(text, encoding="utf-8")

    def _answered(self, name: str, data: Path) -> Iterator[SignalRow]:
        """Yield the rows of a set, whose turns are answered with the history in the set."""
        questions, _, foreign = name.partition(OVER)
        folder = data / questions
        truth: dict[tuple[str, int], bool | None] = {}
        for record in read_json(folder / "ground-truth.json", "the truth of conversations"):
            truth[str(record["Conversation_no"]), record["Turn_no"]] = answerable(record)
        pipeline = load("default", {"reader.type": "sentences", "reader.encoder": self.settings.base})
        pipeline.bind(collection_of(str(data / (foreign or questions) / "passages.jsonl")))
        pipeline.warm_up()
        turns = [turn for conversation in find_task("qrecc", folder).read(folder) for turn in conversation.turns]
        for start in range(0, len(turns), BATCH_SIZE):
            batch = turns[start : start + BATCH_SIZE]
            with ordinary_errors():
                responses = answer(pipeline, batch)
            for turn, response in zip(batch, responses, strict=True):
                known = truth.get((str(turn.id.conversation), turn.id.number))
                if known is not None and response.rewrite is not None and response.ranking is not None:
                    stages = (
                        turn,
                        response.rewrite,
                        response.ranking,
                        response.reading,
                    )
                    values = {
                        **signals(*stages),
                        "cosine": cosine(self.queries, *stages),
                    }
                    yield SignalRow(
                        name,
                        int(turn.id.conversation),
                        known and not foreign,
                        values,
                    )


def answerable(record: Mapping[str, Any]) -> bool | None:
    """Return whether passages answer a turn, by its record of the truth; None if the question is unclear."""
    kinds = record.get("Answerability", ["ANSWERABLE" if record["Truth_passages"] else "UNANSWERABLE"])
    if kinds == ["UNDERSPECIFIED"]:
        return None
    return bool(record.get("Answerable", kinds != ["UNANSWERABLE"]))


def fit(rows: Sequence[SignalRow], names: Sequence[Any]) -> Decision:
    """Fit a logistic regression with equal weight of all sets. A missing signal counts as its mean."""
    sizes = Counter(row.set for row in rows)
    shares = np.array([len(rows) / len(sizes) / sizes[row.set] for row in rows])
    table = [[row.signals[name] for name in names] for row in rows]
    values = np.ma.masked_invalid(np.array(table, float))
    means = np.ma.average(
        values,
        axis=0,
        weights=shares,
    )
    variances = np.ma.average(
        (values - means) ** 2,
        axis=0,
        weights=shares,
    )
    deviations = np.maximum(np.sqrt(variances), 1e-3)
    standardized = ((values - means) / deviations).filled(0.0)
    sides = np.array([float(row.answerable) for row in rows])
    weights, offset = logistic(standardized, sides, shares, 1.0)
    signal_weights = {}
    for index, name in enumerate(names):
        signal_weights[name] = Weight(
            mean=round(float(means[index]), 4),
            deviation=round(float(deviations[index]), 4),
            weight=round(float(weights[index]), 4),
        )
    return Decision(
        intercept=round(offset, 4),
        signals=signal_weights,
        threshold=0.5,
    )


def chosen(
    rows: Sequence[SignalRow],
    score: Callable[[Any], float],
    refused: float = 0.1,
) -> float:
    """Return the highest threshold that refuses at most this share of the answerable turns, averaged over the sets."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        if row.answerable:
            scores.setdefault(row.set, []).append(score(row))
    best = 0.0
    for threshold in {score(row) for row in rows}:
        shares = []
        for values in scores.values():
            below = np.array(values) < threshold
            shares.append(float(below.mean()))
        if mean(shares) <= refused:
            best = max(best, threshold)
    return best


def surely(scores: Sequence[tuple[float, bool]], share: float = 0.85) -> float:
    """Return the lowest threshold above which this share of the turns is answerable."""
    for step in range(100):
        above = [is_answerable for score, is_answerable in scores if score >= step / 100]
        if above and mean(above) >= share:
            return step / 100
    return 1.0
