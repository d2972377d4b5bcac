"""Whether two systems differ on the same conversations: paired randomisation tests, intervals and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.metrics.bootstrap import ends

RESAMPLES = 9_999
COUNTED = 13
"""As many conversations have fewer assignments than there would be samples."""
_AT_ONCE = 1_000_000

Columns = NDArray[numpy.float64]
"""A row for each conversation, a column for each pair of systems and measure."""


def permutation_test() -> Any:
    """That of scipy.

    :raises InputError: without the package scipy.
    """
    try:
        from scipy.stats import permutation_test
    except ModuleNotFoundError as error:
        raise InputError("tests of significance need the extra: pip install 'convqa[experiments]'.") from error
    return permutation_test


def randomisation_test(differences: Sequence[float], seed: int) -> float:
    """The two-sided p of the sum of the differences, each of a conversation, if the two systems were alike.

    Then each conversation's answers might as well have come from the other one, so its sign is as likely to be the
    other (Fisher's randomisation test; Smucker, Allan and Carterette, CIKM 2007). Where up to 13 conversations differ
    all assignments are counted, beyond that 9,999 random ones.

    >>> randomisation_test([0.5, 0.5, 0.5, 0.5], seed=1), randomisation_test([0.0, 0.0], seed=1)
    (0.125, 1.0)

    :raises InputError: without the package scipy.
    """
    return randomisation_tests(numpy.asarray(differences, dtype=numpy.float64)[:, None], seed)[0]


def randomisation_tests(columns: Columns, seed: int) -> list[float]:
    """The p of each column of differences. Columns see the same assignments, so that many cost little more than one."""
    found = numpy.ones(columns.shape[1])
    differing = numpy.count_nonzero(columns, axis=0)
    for place in numpy.flatnonzero((differing > 1) & (differing <= COUNTED)):
        found[place] = _test(columns[columns[:, place] != 0, place, None], seed)[0]
    if len(many := numpy.flatnonzero(differing > COUNTED)):
        found[many] = _test(columns[:, many], seed)
    return [float(p) for p in found]


def _test(columns: Columns, seed: int) -> NDArray[numpy.float64]:
    """What scipy swaps are signs, one for each conversation."""

    def totals(signs: Columns, axis: int) -> Any:  # noqa: ARG001 - the last
        # Rounded, so that sums which are the same but for the order of their terms tie.
        return numpy.abs(signs @ columns).round(12)

    result = permutation_test()(
        (numpy.ones(len(columns)),), totals, permutation_type="samples", alternative="greater", vectorized=True,
        n_resamples=RESAMPLES, batch=max(1, _AT_ONCE // len(columns)), rng=seed,
    )  # fmt: skip
    p: NDArray[numpy.float64] = result.pvalue
    return p


def intervals(sums: Columns, counts: NDArray[Any], seed: int, resamples: int = 5000) -> list[tuple[float, float]]:
    """The 95 % bootstrap intervals of mean differences; columns see the same draws of conversations.

    :param sums: of the differences of each conversation's turns; ``counts``: how many turns these are, at least one.
    """
    generator = numpy.random.default_rng(seed)
    means = numpy.empty((resamples, sums.shape[1]))
    size = len(sums)
    step = max(1, _AT_ONCE // size)
    for start in range(0, resamples, step):
        rows = numpy.arange(min(step, resamples - start))[:, None]
        drawn = generator.integers(0, size, (len(rows), size))
        times = numpy.bincount((drawn + size * rows).ravel(), minlength=len(rows) * size)
        weights = times.reshape(len(rows), size).astype(numpy.float64)
        means[start : start + step] = (weights @ sums) / (weights @ counts)[:, None]
    return [ends(column) for column in means.T]


def holm(values: Sequence[float]) -> list[float]:
    """The p values of several tests, adjusted so that an error in any of them stays as rare (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = largest
    return adjusted
