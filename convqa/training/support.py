"""The recipe ``support``: a logistic regression for whether evidence supports a sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convqa.errors import InputError
from convqa.metrics.answerability import auc
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.heads import LogisticRegression, Rows
from convqa.models.kinds.support import FEATURES, features, judged
from convqa.training.config import SupportSettings
from convqa.training.examples import REPORT, Evidenced, SupportExample, files, read, sources, training_files
from convqa.training.heads import fitted, folds, write_head
from convqa.training.train import Bench, Recipe, Scores

_USE = "Predicts whether a text supports a sentence (`convqa.models.load_support`). English."

SUPPORTED = "supported"


@dataclass(frozen=True, slots=True)
class SupportClaim:
    """A sentence with evidence. ``kind``: ``SUPPORTED``, or the way in which it is not. ``conversation``: the unit of
    splits. ``origin``: index of the supported sentence that it is or was derived from.
    """

    conversation: int
    origin: int
    kind: str
    evidence: str
    sentence: str

    @property
    def supported(self) -> bool:
        return self.kind == SUPPORTED


class SupportTraining(Recipe):
    """Sentences and evidence as feature vectors; ``fit`` sets ``line``."""

    settings: SupportSettings

    def __init__(self, settings: SupportSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        self.claims = read_claims(training_files(bench.data))
        self.reported = {label: read_claims([path]) for label, path in files(bench.data, REPORT).items()}
        conversations = {claim.conversation for claim in self.claims}
        if len(conversations) < 2:
            raise InputError(
                f"{bench.data}: expected sentences of at least 2 conversations to train on, got {len(conversations)}; "
                "some are for validation, the rest for training."
            )
        self.encoder = load_encoder(settings.base)
        self.rows = _features(self.encoder, self.claims)

    def fit(self) -> None:
        """Fit the weights."""
        self.line = _fitted(self.rows, self.claims)

    def validate(self) -> Scores:
        """Score on held-out conversations by cross-validation (``validation``), and on the report sets."""
        held_out = np.zeros(len(self.claims))
        for chosen in folds([claim.conversation for claim in self.claims]):
            rest = [claim for claim, is_chosen in zip(self.claims, chosen, strict=True) if not is_chosen]
            line = _fitted(self.rows[~chosen], rest)
            held_out[chosen] = judged(self.rows[chosen], line)
        scores = {"validation": score(self.claims, held_out.tolist())}
        for label, claims in self.reported.items():
            rows = _features(self.encoder, claims)
            scores[label] = score(claims, judged(rows, self.line).tolist())
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_support`` reads, with the weights in its manifest."""
        write_head(
            target,
            "A support check",
            _USE,
            self.settings,
            self.encoder,
            self.line.model_dump(mode="json"),
            scores,
            sources(self.bench.data),
        )


def _features(encoder: TextEncoder, claims: Sequence[SupportClaim]) -> Rows:
    return features(encoder, [(claim.evidence, claim.sentence) for claim in claims])


def _fitted(rows: Rows, claims: Sequence[SupportClaim]) -> LogisticRegression:
    sides = np.array([float(claim.supported) for claim in claims])
    return fitted(
        FEATURES,
        rows,
        sides,
        _shares(claims),
        1.0,
    )


def claims_of(examples: Iterable[SupportExample]) -> list[SupportClaim]:
    """Return the supported sentence of each example, followed by its unsupported ones."""
    claims = []
    for origin, example in enumerate(examples):
        pairs: dict[str, Evidenced] = {SUPPORTED: example, **example.unsupported}
        for kind, pair in pairs.items():
            claims.append(
                SupportClaim(
                    example.conversation,
                    origin,
                    kind,
                    pair.evidence,
                    pair.sentence,
                )
            )
    return claims


def read_claims(paths: Sequence[Path]) -> list[SupportClaim]:
    """Read the sentences of files."""
    claims = claims_of(example for path in paths for example in read(path, SupportExample))
    if all(claim.supported for claim in claims):
        names = ", ".join(map(str, paths))
        raise InputError(f"{names}: expected examples with unsupported sentences, got none.")
    return claims


def score(claims: Sequence[SupportClaim], scores: Sequence[float]) -> dict[str, float]:
    """Return ``AUC`` and ``accuracy`` at .5, both averaged over the kinds of unsupported sentences, and AUC by kind.

    Each kind is compared with the supported sentences that it was derived from, so that their content, such as a
    number, gives nothing away. Both sides have equal weight.
    """
    by_kind: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for claim, value in zip(claims, scores, strict=True):
        by_kind[claim.kind][claim.origin] = value
    supported = by_kind.pop(SUPPORTED)
    aucs = {}
    accuracies = []
    for kind, wrong in by_kind.items():
        right = [supported[origin] for origin in wrong]
        values = [*right, *wrong.values()]
        aucs[f"AUC {kind}"] = auc(values, [True] * len(right) + [False] * len(wrong))
        found = np.mean(np.array(right) >= 0.5)
        refused = np.mean(np.array(list(wrong.values())) < 0.5)
        accuracies.append((found + refused) / 2)
    means = {
        "sentences": float(len(supported)),
        "AUC": float(np.mean(list(aucs.values()))),
        "accuracy": float(np.mean(accuracies)),
    }
    return means | aucs


def _shares(claims: Sequence[SupportClaim]) -> Rows:
    """Weigh all kinds equally, and a supported sentence as much as all its derivations; the mean is 1."""
    counts = Counter(claim.kind for claim in claims)
    derived: defaultdict[int, float] = defaultdict(float)
    for claim in claims:
        if not claim.supported:
            derived[claim.origin] += 1 / counts[claim.kind]
    weights = np.array([1 / counts[claim.kind] for claim in claims])
    for index, claim in enumerate(claims):
        if claim.supported:
            weights[index] = derived[claim.origin]
    shares: Rows = weights / float(weights.mean())
    return shares
