"""How often does the test of convqa compare find a difference, real or not?

    python benchmarks/compare_power.py

Prints a table of the share of seeds with an alarm. Two simulated systems answer 100 conversations of 5 turns. The
difference of a turn is the true difference, plus that of its conversation (sd .1, then .3), plus its own (sd .3), both
normal: turns of a conversation are alike. Seeds are 0 to 199, fixed in advance. Expected: without a difference an alarm
in 5 % of the seeds, at most 18 of 200 (the 99.5th percentile of a binomial); else the power of the normal test of the
conversations' means, sd sqrt(.1^2 + .3^2 / 5) each. The last column swaps single turns, as if they were independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
from _common import arguments, table

from convqa.metrics.paired import randomization_tests

CONVERSATIONS, TURNS, SEEDS = 100, 5, 200
OWN, LEVEL = 0.3, 0.05
CASES = ((0.1, 0.0), (0.1, 0.05), (0.3, 0.0), (0.3, 0.1))
"""How much conversations differ among each other, and the true difference."""


def differences(spread: float, delta: float, seed: int) -> np.ndarray:
    """Return differences of shape (conversations, turns)."""
    draw = np.random.default_rng(seed)
    shared = draw.normal(0, spread, (CONVERSATIONS, 1))
    return delta + shared + draw.normal(0, OWN, (CONVERSATIONS, TURNS))


def expected(spread: float, delta: float) -> float:
    """Return the power of the two-sided normal test."""
    error = math.sqrt((spread**2 + OWN**2 / TURNS) / CONVERSATIONS)
    normal, edge = NormalDist(), NormalDist().inv_cdf(1 - LEVEL / 2)
    return 1 - normal.cdf(edge - delta / error) + normal.cdf(-edge - delta / error)


def rows() -> Iterator[list[str]]:
    for spread, delta in CASES:
        alarms = {"conversations": 0, "turns": 0}
        for seed in range(SEEDS):
            made = differences(spread, delta, seed)
            alarms["conversations"] += randomization_tests(made.sum(axis=1)[:, None], seed)[0] < LEVEL
            alarms["turns"] += randomization_tests(made.reshape(-1, 1), seed)[0] < LEVEL
        counts = (f"{count} of {SEEDS}" for count in alarms.values())
        yield [str(spread), str(delta), f"{expected(spread, delta):.1%}", *counts]


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.parse_args()
    head = ["sd of conversations", "true difference", "expected", "conversations swapped", "turns swapped"]
    table(head, rows())


if __name__ == "__main__":
    main()
