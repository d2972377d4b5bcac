"""The recipe ``support``: whether evidence supports a sentence. A logistic regression."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from convqa.errors import InputError
from convqa.metrics.answerability import auc
from convqa.models.kinds.encoder import load_encoder
from convqa.models.kinds.heads import Rows
from convqa.models.kinds.support import FEATURES, features, judged
from convqa.training.config import SupportSettings
from convqa.training.data.claims import SUPPORTED, Claim, split
from convqa.training.data.records import named_folder
from convqa.training.heads import folds, logistic, named, write_head
from convqa.training.train import Bench, Recipe, Scores

_USE = "Says whether a text supports a sentence (`convqa.models.load_support`). English."


class Training(Recipe):
    """Sentences with their evidence, as numbers; ``weights`` and ``offset`` are there once it is fitted."""

    settings: SupportSettings

    def __init__(self, settings: SupportSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        folder = named_folder(bench.data)
        self.claims, self.reported = split(folder)
        conversations = {claim.conversation for claim in self.claims}
        if len(conversations) < 2:
            raise InputError(
                f"{folder}: {len(conversations)} conversations have answers to train on; wanted at least 2, as some "
                "validate and the rest trains."
            )
        self.encoder = load_encoder(settings.base)
        self.rows = self._rows(self.claims)

    def fit(self) -> None:
        """Find the weights."""
        self.weights, self.offset = self._logistic(self.rows, self.claims)

    def validate(self) -> Scores:
        """How good such weights are: on conversations held out in turn (``validation``), and on what is reported on."""
        held = np.zeros(len(self.claims))
        for chosen in folds([claim.conversation for claim in self.claims]):
            rest = [claim for claim, left_out in zip(self.claims, chosen, strict=True) if not left_out]
            held[chosen] = judged(self.rows[chosen], *self._logistic(self.rows[~chosen], rest))
        scores = {"validation": score(self.claims, held.tolist())}
        for name, claims in self.reported.items():
            made = judged(self._rows(claims), self.weights, self.offset)
            scores[f"{name} report"] = score(claims, made.tolist())
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_support`` reads: the weights are in its manifest."""
        learnt = named(FEATURES, self.weights, self.offset)
        write_head(target, "A support check", _USE, self.settings, self.encoder, learnt, scores)

    def _rows(self, claims: Sequence[Claim]) -> Rows:
        return features(self.encoder, [(claim.evidence, claim.sentence) for claim in claims])

    def _logistic(self, rows: Rows, claims: Sequence[Claim]) -> tuple[Rows, float]:
        sides = np.array([float(claim.supported) for claim in claims])
        return logistic(rows, sides, _shares(claims), self.settings.penalty)


def score(claims: Sequence[Claim], scores: Sequence[float]) -> dict[str, float]:
    """``AUC`` and ``accuracy`` at .5, each the mean over the kinds of unsupported sentences, and the AUC of each kind.

    A kind is measured beside the supported sentences that its own were made from, so that it cannot be told by what it
    was made from, such as that there is a number in it. Both sides count alike.
    """
    found = {(claim.origin, claim.kind): one for claim, one in zip(claims, scores, strict=True)}
    kinds: dict[str, list[int]] = {}
    for origin, kind in found:
        kinds.setdefault(kind, []).append(origin)
    about = {"sentences": float(len(kinds.pop(SUPPORTED)))}
    aucs, accuracies = {}, []
    for kind, origins in kinds.items():
        right, wrong = ([found[origin, one] for origin in origins] for one in (SUPPORTED, kind))
        aucs[f"AUC {kind}"] = auc([*right, *wrong], [True] * len(right) + [False] * len(wrong))
        accuracies.append((np.mean([one >= 0.5 for one in right]) + np.mean([one < 0.5 for one in wrong])) / 2)
    return about | {"AUC": float(np.mean(list(aucs.values()))), "accuracy": float(np.mean(accuracies))} | aucs


def _shares(claims: Sequence[Claim]) -> Rows:
    """Every kind alike, and a supported sentence as much as all that was made of it; 1 in the mean."""
    counts = Counter(claim.kind for claim in claims)
    made: defaultdict[int, float] = defaultdict(float)
    for claim in claims:
        if not claim.supported:
            made[claim.origin] += 1 / counts[claim.kind]
    shares: Rows = np.array([made[claim.origin] if claim.supported else 1 / counts[claim.kind] for claim in claims])
    return shares / float(shares.mean())
