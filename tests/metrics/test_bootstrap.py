import numpy
import pytest

from convqa.metrics import bootstrap
from convqa.metrics.bootstrap import interval, interval_of_statistic


def test_close_to_the_normal_interval():
    scores = numpy.random.default_rng(5).random(2000)
    low, high = interval([scores.tolist()], seed=1, resamples=5000)
    margin = 1.96 * scores.std() / 2000**0.5
    assert (low, high) == pytest.approx((scores.mean() - margin, scores.mean() + margin), abs=0.001)


def test_same_seed_same_interval_however_it_is_cut(monkeypatch):
    scores = [number / 50 for number in range(50)]
    whole = interval([scores], seed=3)
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 70)
    assert interval([scores], seed=3) == whole
    assert interval([scores], seed=4) != whole


def test_nothing_has_no_interval():
    with pytest.raises(ValueError, match="at least one score"):
        interval([[]], seed=1)


def test_a_statistic_is_drawn_within_groups():
    sizes = set()

    def share(groups):
        sizes.add((len(groups["a"]), len(groups["b"])))
        return sum(groups["a"]) / (sum(groups["a"]) + sum(groups["b"]) or 1)

    groups = {"a": [1.0, 0.0, 1.0], "b": [1.0, 0.0]}
    low, high = interval_of_statistic(groups, share, seed=1)
    assert 0 <= low < share(groups) < high <= 1
    assert sizes == {(3, 2)}
    assert interval_of_statistic(groups, share, seed=1) == (low, high)


def test_a_statistic_without_a_value_has_no_interval():
    with pytest.raises(ValueError, match="at least one sample"):
        interval_of_statistic({"a": [1.0]}, lambda groups: None, seed=1)
