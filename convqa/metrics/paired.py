"""Paired comparisons of two systems: randomization tests and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from convqa.errors import InputError

RANDOM_ASSIGNMENTS = 9_999
MAX_EXACT_CONVERSATIONS = 13
"""Maximum number of differing conversations for the exact test, whose assignments are fewer than the random ones."""
MAX_DRAWS = 1_000_000
"""Draws in memory at once."""

Columns = NDArray[numpy.float64]
"""A row per conversation, a column per pair of systems and measure."""


def permutation_test() -> Any:
    """Return scipy's function.

    :raises InputError: without the package scipy.
    """
    try:
        from scipy.stats import permutation_test
    except ModuleNotFoundError as error:
        raise InputError("tests of significance need the extra: pip install 'convqa[experiments]'.") from error
    return permutation_test


def randomization_tests(columns: Columns, seed: int) -> list[float]:
    """Two-sided p value of the sum of each column of differences, from Fisher's randomization test.

    If the two systems were the same, each conversation's difference could have the other sign (Smucker, Allan and
    Carterette, CIKM 2007). If up to 13 conversations differ, all assignments of signs are counted, otherwise 9,999
    random ones, which are the same for all columns, for speed.

    >>> randomization_tests(numpy.array([[0.5, 0.0], [0.5, 0.0], [0.5, 0.0], [0.5, 0.0]]), seed=1)
    [0.125, 1.0]

    :raises InputError: without the package scipy.
    """
    p_values = numpy.ones(columns.shape[1])
    differing = numpy.count_nonzero(columns, axis=0)
    few = (differing > 1) & (differing <= MAX_EXACT_CONVERSATIONS)
    for index in numpy.flatnonzero(few):
        column = columns[:, index]
        nonzero = column[column != 0, None]
        p_values[index] = _test(nonzero, seed)[0]
    many = differing > MAX_EXACT_CONVERSATIONS
    if many.any():
        p_values[many] = _test(columns[:, many], seed)
    return [float(p) for p in p_values]


def _test(columns: Columns, seed: int) -> NDArray[numpy.float64]:
    """Run scipy's test, which permutes one sign per conversation."""

    def totals(signs: Columns, axis: int) -> Any:  # noqa: ARG001 - always the last
        # Rounded, so that sums that differ only in the order of their terms tie.
        return numpy.abs(signs @ columns).round(12)

    result = permutation_test()(
        (numpy.ones(len(columns)),),
        totals,
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=RANDOM_ASSIGNMENTS,
        batch=max(1, MAX_DRAWS // len(columns)),
        rng=seed,
    )
    p: NDArray[numpy.float64] = result.pvalue
    return p


def holm(values: Sequence[float]) -> list[float]:
    """Adjust the p values of several tests for the probability of any error (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(values)
    largest = 0.0
    ascending = sorted(range(len(values)), key=lambda index: values[index])
    for rank, index in enumerate(ascending):
        product = (len(values) - rank) * values[index]
        largest = max(largest, min(1.0, product))
        adjusted[index] = largest
    return adjusted
