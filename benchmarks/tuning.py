"""One setting of rewriters and hybrid retriever for all sets, chosen on half of two: part of ablation.py.

By coordinates: for each rewriter its own parameters (weight of terms, least probability) with the vectors' texts; then
fusion with these texts; the hybrid retriever's setting is the one with the best mean over rewriters, and
every rewriter's own parameters are chosen again under it. What counts is MRR@10 of the hybrid ranking, the mean of the
two sets. Fusion is what the retriever ``hybrid`` does with the rankings of ``bm25`` and ``dense``, searched once.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from _common import table
from conversation_sets import TUNED, Case, cases
from retriever_rows import TOP, Remembered, collection, search
from rewriter_rows import Description, Rewrites, has

from convqa.components.encoding import Text
from convqa.components.rankings import FUSIONS
from convqa.components.retrievers.bm25 import BM25
from convqa.components.retrievers.dense import Dense
from convqa.domain import Ranking
from convqa.metrics.reciprocal_rank import reciprocal_rank

WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
LEASTS = (0.05, 0.1, 0.2, 0.3)
VECTORS: tuple[tuple[Text, ...], ...] = (
    ("question", "expanded"),
    ("question", "rewrite"),
    ("question", "expanded", "rewrite"),
    ("expanded", "rewrite"),
    ("expanded",),
    ("rewrite",),
)
FUSED = tuple(product(("rrf", "interpolation"), (1.0, 0.5, 1.5, 2.0, 3.0)))
"""Fusion and the weight of the dense ranking, where the sparse one weighs 1."""
SHOWN = 8

Own = tuple[tuple[str, float], ...]
"""A rewriter's own parameters."""


@dataclass(frozen=True, slots=True)
class Hybrid:
    """A setting of the hybrid retriever."""

    vectors: tuple[Text, ...]
    fusion: str = "rrf"
    dense: float = 1.0

    def parameters(self) -> dict[str, Any]:
        return {
            "vectors": list(self.vectors), "fusion": self.fusion, "weights": {"sparse": 1.0, "dense": self.dense}
        }  # fmt: skip


class Half:
    """The turns of even conversations of a set, and what is found for them."""

    def __init__(self, folder: Path, options: argparse.Namespace, rewrites: Rewrites) -> None:
        self._cases: list[Case] = [case for case in cases(folder) if not case.odd][: options.limit]
        self._turns = [case.turn for case in self._cases]
        url = collection(folder, options.encoder, options.work)
        self._bm25 = BM25(url, stopwords="long", texts=0)
        self._dense = {texts: Dense(url, encoder=options.encoder, vectors=list(texts), texts=0) for texts in VECTORS}
        self._rewrites = rewrites
        self._found: dict[Any, Sequence[Ranking]] = {}

    def score(self, described: Description, own: Own, hybrid: Hybrid) -> float:
        """MRR@10 of the hybrid ranking."""
        sparse, dense = self._sparse(described, own), self._near(described, own, hybrid.vectors)
        fuse = FUSIONS[hybrid.fusion]
        return self._mrr(fuse([(1.0, one), (hybrid.dense, two)], TOP) for one, two in zip(sparse, dense, strict=True))

    def bm25(self, described: Description, own: Own) -> float:
        return self._mrr(self._sparse(described, own))

    def forget(self) -> None:
        """Another rewriter's rankings are not asked for again."""
        self._found.clear()

    def _sparse(self, described: Description, own: Own) -> Sequence[Ranking]:
        if own not in self._found:
            written = self._rewrites.of(described, self._turns, **dict(own))
            self._found[own] = search(self._bm25, self._turns, written)
        return self._found[own]

    def _near(self, described: Description, own: Own, texts: tuple[Text, ...]) -> Sequence[Ranking]:
        # Vectors know words, whatever they weigh.
        key = texts, tuple(pair for pair in own if pair[0] != "weight")
        if key not in self._found:
            written = self._rewrites.of(described, self._turns, **dict(own))
            self._found[key] = search(self._dense[texts], self._turns, written)
        return self._found[key]

    def _mrr(self, rankings: Iterator[Ranking] | Sequence[Ranking]) -> float:
        pairs = zip(self._cases, rankings, strict=True)
        return mean(reciprocal_rank(case.relevant, [hit.id for hit in found.hits[:10]], 10) for case, found in pairs)


class Tried:
    """What one rewriter reached: own parameters and hybrid setting -> mean MRR@10 of the two halves."""

    def __init__(self, described: Description, halves: Sequence[Half]) -> None:
        self._described, self._halves = described, halves
        names = {"weight": WEIGHTS, "least": LEASTS}
        known = [[(name, value) for value in values] for name, values in names.items() if has(described, name)]
        self.owns: list[Own] = list(product(*known))
        self.scores: dict[tuple[Own, Hybrid], float] = {}

    def go(self, owns: Sequence[Own], hybrids: Sequence[Hybrid]) -> None:
        for own, hybrid in product(owns, hybrids):
            if (own, hybrid) not in self.scores:
                self.scores[own, hybrid] = mean(half.score(self._described, own, hybrid) for half in self._halves)

    def best(self, hybrid: Hybrid | None = None) -> tuple[Own, Hybrid]:
        """The first of the best ones, under one hybrid setting or any."""
        some = [key for key in self.scores if hybrid in {None, key[1]}]
        return max(some, key=self.scores.__getitem__)

    def bm25(self, own: Own) -> float:
        return mean(half.bm25(self._described, own) for half in self._halves)


def tune(options: argparse.Namespace, rows: Mapping[str, Description]) -> dict[str, Any]:
    """Print what was tried; settings for ``--settings``."""
    rewrites, vectors = Rewrites(options.work / "rewrites"), Remembered(options.encoder, options.work)
    halves = [Half(options.data / "conversations" / name, options, rewrites) for name in TUNED]
    tried = {label: Tried(described, halves) for label, described in rows.items() if has(described, "weight")}
    hybrids = [Hybrid(texts, *fused) for texts, fused in product(VECTORS, FUSED)]
    for rewriter in tried.values():
        for half in halves:
            half.forget()
        rewriter.go(rewriter.owns, [Hybrid(texts) for texts in VECTORS])
        rewriter.go([rewriter.best()[0]], hybrids)
        vectors.save()
    common = max(hybrids, key=lambda hybrid: mean(_at(one, hybrid) for one in tried.values()))
    for rewriter in tried.values():
        for half in halves:
            half.forget()
        rewriter.go(rewriter.owns, [common])
    show(tried, common)
    own = {label: dict(one.best(common)[0]) for label, one in tried.items()}
    return {
        "settings": {"rewriters": own, "hybrid": common.parameters()},
        "tried": {label: _to_json(one) for label, one in tried.items()},
    }


def _at(rewriter: Tried, hybrid: Hybrid) -> float:
    return rewriter.scores[rewriter.best(hybrid)]


def show(tried: Mapping[str, Tried], common: Hybrid) -> None:
    print(f"common: {common.parameters()}\n\nMRR@10, mean of the even halves of {' and '.join(TUNED)}\n")
    head = ["rewriter", "own parameters", "hybrid", "bm25 with these", "best hybrid", "with"]
    table(head, (_row(label, one, common) for label, one in tried.items()))
    for label, one in tried.items():
        print(f"\n{label}: the best of {len(one.scores)}\n")
        best = sorted(one.scores, key=lambda key: -one.scores[key])[:SHOWN]
        table(["hybrid", "own", "with"], ([f"{one.scores[key]:.4f}", f"{dict(key[0])}", f"{key[1]}"] for key in best))


def _row(label: str, one: Tried, common: Hybrid) -> list[str]:
    own, best = one.best(common)[0], one.best()
    found = f"{one.scores[own, common]:.4f}", f"{one.bm25(own):.4f}", f"{one.scores[best]:.4f}"
    return [label, str(dict(own)), *found, f"{dict(best[0])} {best[1]}"]


def _to_json(one: Tried) -> list[dict[str, Any]]:
    return [{**dict(own), **hybrid.parameters(), "MRR@10": score} for (own, hybrid), score in one.scores.items()]
