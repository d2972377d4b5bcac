from __future__ import annotations


def test_the_best_round_of_each_way_counts_and_the_first_does_not(monkeypatch):
    import _common as timing

    clock = iter([0.0, 4.0, 10.0, 11.0, 20.0, 22.0, 30.0, 33.0])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    done = []

    def way(name, items):
        return lambda: done.append(name) or items

    assert timing.rates({"one": way("one", 8), "many": way("many", 9)}, rounds=2) == {"one": 4.0, "many": 9.0}
    assert done == ["one", "many"] * 3
