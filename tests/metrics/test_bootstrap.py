import pytest

from convqa.metrics import bootstrap
from convqa.metrics.bootstrap import interval, interval_of_statistic


def test_same_seed_same_interval():
    scores = [number / 50 for number in range(50)]
    whole = interval([scores], seed=3)
    assert interval([scores], seed=3) == whole
    assert interval([scores], seed=4) != whole


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


def test_conversations_are_drawn_whole(monkeypatch):
    """Turns of one conversation that all score alike say no more than one of them."""
    monkeypatch.setattr(bootstrap, "RESAMPLES", 4000)
    scores = [float(number % 2) for number in range(40)]
    one_turn = interval([scores], seed=1)
    repeated = [[score for score in scores for _ in range(5)]]
    five_turns = interval(repeated, seed=1, owners=[[n for n in range(40) for _ in range(5)]])
    drawn_turns = interval(repeated, seed=1)
    assert five_turns == pytest.approx(one_turn, abs=1e-9)
    assert drawn_turns[1] - drawn_turns[0] < 0.6 * (one_turn[1] - one_turn[0])


def test_a_conversation_in_several_groups_is_drawn_for_all_of_them():
    """Here each conversation has the same mean of its two groups, so no sample differs."""
    groups = [[0.0, 0.25, 1.0], [1.0, 0.75, 0.0]]
    assert interval(groups, seed=1, owners=[["a", "b", "c"]] * 2) == (0.5, 0.5)


def test_no_sample_lacks_a_group():
    def statistic(groups):
        assert all(groups.values())
        return sum(groups["a"])

    groups = {"a": [1.0, 2.0, 3.0], "b": [5.0]}
    interval_of_statistic(groups, statistic, seed=1, owners=[["x", "y", "z"], ["x"]])
    interval(list(groups.values()), seed=1, owners=[["x", "y", "z"], ["x"]])


def test_a_statistic_sees_whole_conversations():
    seen = []
    groups, owners = {"a": [0.11, 0.12, 0.21, 0.31], "b": [0.13, 0.22, 0.23]}, [[1, 1, 2, 3], [1, 2, 2]]
    interval_of_statistic(groups, lambda by: seen.append([*by["a"], *by["b"]]) or 0.0, 1, owners)
    for drawn in seen:
        assert drawn.count(0.11) == drawn.count(0.12) == drawn.count(0.13)
        assert drawn.count(0.21) == drawn.count(0.22) == drawn.count(0.23)
        assert drawn.count(0.11) + drawn.count(0.21) == 2 and drawn.count(0.31) == 1  # the only one in a alone
    assert {drawn.count(0.11) for drawn in seen} == {0, 1, 2}
