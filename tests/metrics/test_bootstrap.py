import numpy
import pytest

from convqa.metrics import bootstrap
from convqa.metrics.bootstrap import interval


def test_close_to_the_normal_interval():
    scores = numpy.random.default_rng(5).random(2000)
    low, high = interval(scores.tolist(), seed=1, resamples=5000)
    margin = 1.96 * scores.std() / 2000**0.5
    assert (low, high) == pytest.approx((scores.mean() - margin, scores.mean() + margin), abs=0.001)


def test_same_seed_same_interval_however_it_is_cut(monkeypatch):
    scores = [number / 50 for number in range(50)]
    whole = interval(scores, seed=3)
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 70)
    assert interval(scores, seed=3) == whole
    assert interval(scores, seed=4) != whole


def test_nothing_has_no_interval():
    with pytest.raises(ValueError, match="at least one score"):
        interval([], seed=1)
