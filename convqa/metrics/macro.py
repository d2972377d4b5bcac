"""The mean over groups, each counting the same whatever its size."""

from __future__ import annotations

from collections.abc import Sequence


def macro_average(means: Sequence[float]) -> float:
    """The unweighted mean of the groups' means: of MRQA's data sets it is the shared task's final score.

    >>> macro_average([80.0, 60.0])
    70.0

    :raises ValueError: without groups.
    """
    if not means:
        raise ValueError("a macro average needs at least one group")
    return sum(means) / len(means)
