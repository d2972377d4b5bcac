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
class Row:
    """A turn: its set, its conversation's number, whether its passages answer it, and its signals."""

    set: str
    number: int
    answerable: bool
    signals: Mapping[str, float | None]


class Training(Recipe):
    """Fit on conversations with numbers 2 modulo 4, set thresholds on those with 0, and report on odd numbers."""

    settings: DecisionSettings

    def fit(self) -> None:
        data = self.bench.data
        self.queries = QueryEncoder(self.settings.base)
        self.rows = [row for name in self.settings.conversations for row in self._collected(name, data)]
        train, rest = ([row for row in self.rows if row.number % 4 == part] for part in (2, 0))
        if min(len({row.answerable for row in part}) for part in (train, rest)) < 2:
            raise InputError(
                f"{data}: expected turns with and without an answer, in conversations of 0 and 2 modulo 4."
            )
        decision = fit(train, self.settings.signals)
        threshold = round(
            chosen([row for row in rest if OVER not in row.set], lambda row: decision.weigh(row.signals)), 2
        )
        sure = surely([(decision.weigh(row.signals), row.answerable) for row in rest])
        about = {"threshold": threshold, "sure": sure, "encoder": self.queries.model.family}
        self.decision = decision.model_copy(update=about)

    def validate(self) -> Scores:
        odd = [(self.decision.weigh(row.signals), row.answerable) for row in self.rows if row.number % 2]
        kinds = {
            can: [score < self.decision.threshold for score, known in odd if known == can] for can in (True, False)
        }
        refused = {f"refused, answerable {can}": float(np.mean(some)) for can, some in kinds.items() if some}
        area = {"AUC": auc(*zip(*odd, strict=True))} if len(refused) == 2 else {}
        return {"report": {"turns": float(len(odd)), **area, **refused}}

    def export(self, scores: Scores, target: Path) -> None:
        """Write ``decision.yaml``, which ``decider.decision`` names."""
        about = {"by": "convqa train decision", "settings": self.settings.model_dump(mode="json"), "report": scores}
        made = self.decision.model_copy(update={"fitted": about}).model_dump(exclude_defaults=True)
        target.mkdir()
        (target / "decision.yaml").write_text(yaml.safe_dump(made, sort_keys=False), encoding="utf-8")

    def _collected(self, name: str, data: Path) -> Iterator[Row]:
        """Yield the rows of a set, whose turns are answered with the history in the set."""
        asked, _, over = name.partition(OVER)
        needed = (data / asked / "ground-truth.json", data / (over or asked) / "passages.jsonl")
        missing = [str(path) for path in needed if not path.is_file()]
        if missing:
            raise InputError(f"{', '.join(missing)}: no such file. See docs/reference/training.md.")
        pipeline = load("default", {"reader.type": "sentences", "reader.encoder": self.settings.base})
        pipeline.bind(collection_of(str(data / (over or asked) / "passages.jsonl")))
        pipeline.warm_up()
        records = read_json(data / asked / "ground-truth.json", "the truth of conversations")
        truth = {(str(record["Conversation_no"]), record["Turn_no"]): answerable(record) for record in records}
        turns = [turn for talk in find_task("qrecc", data / asked).read(data / asked) for turn in talk.turns]
        for start in range(0, len(turns), BATCH_SIZE):
            some = turns[start : start + BATCH_SIZE]
            with ordinary_errors():
                answered = answer(pipeline, some)
            for turn, response in zip(some, answered, strict=True):
                known = truth.get((str(turn.id.conversation), turn.id.number))
                if known is not None and response.rewrite is not None and response.ranking is not None:
                    parts = turn, response.rewrite, response.ranking, response.reading
                    values = {**signals(*parts), "cosine": cosine(self.queries, *parts)}
                    yield Row(name, int(turn.id.conversation), known and not over, values)


def answerable(record: Mapping[str, Any]) -> bool | None:
    """Return whether passages answer a turn, by its record of the truth; None if the question is unclear."""
    kinds = record.get("Answerability", ["ANSWERABLE" if record["Truth_passages"] else "UNANSWERABLE"])
    return None if kinds == ["UNDERSPECIFIED"] else bool(record.get("Answerable", kinds != ["UNANSWERABLE"]))


def fit(rows: Sequence[Row], names: Sequence[Any]) -> Decision:
    """Fit a logistic regression with equal weight of all sets. A missing signal counts as its mean."""
    sets = Counter(row.set for row in rows)
    shares = np.array([len(rows) / len(sets) / sets[row.set] for row in rows])
    values = np.ma.masked_invalid(np.array([[row.signals[name] for name in names] for row in rows], float))
    means = np.ma.average(values, axis=0, weights=shares)
    deviations = np.maximum(np.sqrt(np.ma.average((values - means) ** 2, axis=0, weights=shares)), 1e-3)
    sides = np.array([float(row.answerable) for row in rows])
    weights, offset = logistic(((values - means) / deviations).filled(0.0), sides, shares, 1.0)
    columns = zip(names, means.tolist(), deviations.tolist(), weights.tolist(), strict=True)
    shaped = {name: Weight(mean=round(m, 4), deviation=round(d, 4), weight=round(w, 4)) for name, m, d, w in columns}
    return Decision(intercept=round(offset, 4), signals=shaped, threshold=0.5)


def chosen(rows: Sequence[Row], score: Callable[[Any], float], refused: float = 0.1) -> float:
    """Return the highest threshold that refuses at most this share of the answerable turns, averaged over the sets."""
    sets = sorted({row.set for row in rows if row.answerable})
    scores = [np.sort([score(row) for row in rows if row.set == name and row.answerable]) for name in sets]
    steps = {score(row) for row in rows}
    return max((s for s in steps if mean(np.searchsorted(one, s) / len(one) for one in scores) <= refused), default=0.0)


def surely(scores: Sequence[tuple[float, bool]], share: float = 0.85) -> float:
    """Return the lowest threshold above which this share of the turns is answerable."""
    above = ([can for score, can in scores if score >= step / 100] for step in range(100))
    return next((step / 100 for step, part in enumerate(above) if part and mean(part) >= share), 1.0)
