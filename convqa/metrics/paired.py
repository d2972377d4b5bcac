"""Whether two systems differ on the same conversations: a paired randomisation test, and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from convqa.errors import InputError

RESAMPLES = 9_999
_AT_ONCE = 2_000_000


def randomisation_test(differences: Sequence[float], seed: int) -> float:
    """The two-sided p of the sum of the differences, each of a conversation, if the two systems were alike.

    Then each conversation's answers might as well have come from the other one, so its sign is as likely to be the
    other (Fisher's randomisation test; Smucker, Allan and Carterette, CIKM 2007). Up to 13 conversations all
    assignments are counted, beyond that 9,999 random ones.

    >>> randomisation_test([0.5, 0.5, 0.5, 0.5], seed=1), randomisation_test([0.0, 0.0], seed=1)
    (0.125, 1.0)

    :raises InputError: without the package scipy.
    """
    try:
        from scipy.stats import permutation_test
    except ModuleNotFoundError as error:
        raise InputError("tests of significance need the extra: pip install 'convqa[experiments]'.") from error

    values = numpy.asarray(differences, dtype=numpy.float64)
    if not values.any():
        return 1.0

    def total(sample: NDArray[numpy.float64], axis: int) -> Any:
        return sample.sum(axis=axis)

    result = permutation_test(
        (values,), total, permutation_type="samples", vectorized=True, n_resamples=RESAMPLES,
        batch=max(1, _AT_ONCE // len(values)), rng=seed,
    )  # fmt: skip
    return float(result.pvalue)


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
