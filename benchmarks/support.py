"""How well do support checks tell supported sentences from unsupported ones?

    python benchmarks/support.py [--models lexical support cosine ...] [--sets inscit clapnq] [--data ../shared/data]

Prints a table. The claims are the reported ones of ``recipes.support``: INSCIT's odd conversations and
ClapNQ's dev part. ``cosine`` is that of sentence and evidence by the shipped encoder, untrained; any other name is one
that ``convqa.models.load_support`` knows. "AUC": how often a supported sentence scores above an unsupported one; the
first is the mean over the kinds of the latter. "accuracy" at .5 is the mean of the share of supported sentences that
pass and the shares of each unsupported kind that fail. 95 % intervals resample whole conversations.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from _common import arguments, table
from comparing import SEED

from convqa.metrics.bootstrap import interval_of_statistic
from convqa.models import load_encoder, load_support
from convqa.models.kinds.support import FEATURES, features
from convqa.training.support import SupportClaim, claims_of, score
from recipes.support import CLAPNQ, INSCIT, KINDS, split

COSINE = "cosine"
RESAMPLES = 300


def scores(model: str, claims: Sequence[SupportClaim]) -> list[float]:
    pairs = [(claim.evidence, claim.sentence) for claim in claims]
    if model == COSINE:
        found: list[float] = features(load_encoder("encoder"), pairs)[:, FEATURES.index(COSINE)].tolist()
        return found
    return load_support(model).score(pairs)


class Measured:
    """The figures of a model on a set with intervals, all over the same resampled conversations."""

    def __init__(self, claims: Sequence[SupportClaim], found: Sequence[float]) -> None:
        self._claims, self._found = claims, found
        self._members: dict[int, list[int]] = {}
        for place, claim in enumerate(claims):
            self._members.setdefault(claim.conversation, []).append(place)
        self._kinds = {claim.kind for claim in claims}
        self._known: dict[tuple[float, ...], dict[str, float]] = {}

    def cell(self, measure: str) -> str:
        names = {"all": sorted(self._members)}
        low, high = interval_of_statistic(
            names, lambda drawn: self._of(drawn["all"]).get(measure), SEED, resamples=RESAMPLES
        )
        return f"{self._of(names['all'])[measure]:.3f} [{low:.3f}, {high:.3f}]"

    def refused(self, kind: str) -> float:
        pairs = zip(self._claims, self._found, strict=True)
        return float(np.mean([one < 0.5 for claim, one in pairs if claim.kind == kind]))

    def _of(self, names: Sequence[float]) -> dict[str, float]:
        """Return all figures over these conversations; none if a kind is missing."""
        key = tuple(names)
        if key not in self._known:
            # A conversation that is drawn twice counts as two.
            some = [(place, turn) for turn, name in enumerate(names) for place in self._members[int(name)]]
            drawn = [replace(self._claims[at], origin=self._claims[at].origin + turn * 10**6) for at, turn in some]
            found = [self._found[place] for place, _ in some]
            right = [one >= 0.5 for claim, one in zip(drawn, found, strict=True) if claim.supported]
            whole = {claim.kind for claim in drawn} == self._kinds
            self._known[key] = score(drawn, found) | {"passed": float(np.mean(right))} if whole else {}
        return self._known[key]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=["lexical", COSINE, "support"], metavar="NAME")
    parser.add_argument("--sets", nargs="+", default=[INSCIT, CLAPNQ], choices=[INSCIT, CLAPNQ], metavar="SET")
    options = parser.parse_args()
    reported = split(options.data)[1]
    measured, rows, kinds = {}, [], []
    for name in options.sets:
        claims = claims_of(reported[name])
        for model in options.models:
            start = time.perf_counter()
            found = scores(model, claims)
            speed = len(found) / (time.perf_counter() - start)
            one = measured[name, model] = Measured(claims, found)
            number = sum(claim.supported for claim in claims)
            cells = [one.cell(measure) for measure in ("AUC", "accuracy", "passed")]
            rows.append([name, model, str(number), *cells, f"{speed:.0f}"])
        for kind in KINDS:
            number = sum(claim.kind == kind for claim in claims)
            found_by = [measured[name, model] for model in options.models]
            if number:
                cells = [f"{one.cell(f'AUC {kind}')}; {one.refused(kind):.2f}" for one in found_by]
                kinds.append([name, kind, str(number), *cells])
    head = ["set", "model", "supported sentences", "AUC", "accuracy", "supported that pass", "pairs/s"]
    table(head, rows, "support/models")
    print()
    head = ["set", "kind", "sentences", *(f"{model}: AUC; refused at .5" for model in options.models)]
    table(head, kinds, "support/kinds")


if __name__ == "__main__":
    main()
