"""Fitting of logistic regressions."""

from __future__ import annotations

import numpy as np

from convqa.training.heads import logistic


def test_the_regression_is_that_of_the_data():
    """At the optimum the weighted residuals are orthogonal to what is given, but for the penalty."""
    draw = np.random.default_rng(3)
    rows = np.column_stack([draw.normal(5, 3, 400), draw.normal(0, 0.1, 400), np.ones(400)])
    sides = (rows[:, 0] + draw.normal(0, 3, 400) > 5).astype(float)
    shares = np.where(sides == 1, 1.5, 0.5)
    weights, offset = logistic(rows, sides, shares, 1e-6)
    residuals = shares * (1 / (1 + np.exp(-(rows @ weights + offset))) - sides)
    assert np.abs(rows.T @ residuals).max() < 1e-3 and weights[0] > 0
    shrunk, _ = logistic(rows, sides, shares, 1000.0)
    assert 0 < shrunk[0] < weights[0]


def test_data_that_are_parted_wholly_have_finite_weights():
    rows = np.linspace(-1, 1, 20)[:, None]
    weights, offset = logistic(rows, (rows[:, 0] > 0).astype(float), np.ones(20), 0.1)
    assert 1 < weights[0] < 100 and abs(offset) < 1
