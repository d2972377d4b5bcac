"""The paired randomization test and Holm's correction, beside scipy's own numbers and by their properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.metrics.paired import holm, randomization_tests


def randomization_test(differences, seed):
    return randomization_tests(np.asarray(differences, dtype=float)[:, None], seed)[0]


def exact(differences):
    """All assignments of signs, counted."""
    observed = abs(sum(differences))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
            for signs in itertools.product((1, -1), repeat=len(differences))]  # fmt: skip
    return np.mean([total >= observed - 1e-12 for total in sums])


@settings(deadline=None)  # scipy is imported at the first
@given(st.lists(st.integers(-8, 8).map(lambda n: n / 8), min_size=2, max_size=8))
def test_few_conversations_are_counted_exactly(differences):
    assert randomization_test(differences, seed=1) == pytest.approx(exact(differences))


def test_many_conversations_are_near_the_t_test():
    from scipy.stats import ttest_1samp

    differences = np.random.default_rng(3).normal(0.05, 0.3, 200)
    assert randomization_test(differences.tolist(), seed=1) == pytest.approx(
        ttest_1samp(differences, 0).pvalue, abs=0.01
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_values_are_larger_and_keep_their_order(values):
    adjusted = holm(values)
    assert all(0 <= before <= after <= 1 for before, after in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[place] for place in order] == sorted(adjusted)
    assert holm(values[:1]) == values[:1]


def test_columns_do_not_change_each_other():
    columns = np.random.default_rng(3).normal(0.05, 0.3, (40, 5))
    columns[5:, 1] = 0
    columns[:, 2] = 0
    assert randomization_tests(columns, seed=2) == [randomization_test(column, seed=2) for column in columns.T]


def test_sums_in_another_order_tie():
    assert randomization_test([0.1, 0.2, 0.3, -0.1, -0.2, -0.3] * 5, seed=1) == 1.0
