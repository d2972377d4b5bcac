"""Expected scores of benchmarks: what lies within their intervals, and what moved."""

from __future__ import annotations

from types import SimpleNamespace

from convqa.evaluation.result import ScoreSummary

EVALUATION = SimpleNamespace(summaries={"MRR": ScoreSummary(0.5, 0.4, 0.6, 93)})


def test_what_moved_is_named_with_what_was_expected():
    from regression import moved

    expected = {"MRR": {"mean": 0.7, "low": 0.6, "high": 0.8}, "QR": {"mean": 0.5, "low": 0.4, "high": 0.6}}
    assert moved(EVALUATION, {"measures": expected}) == [
        "MRR: 0.5; expected 0.7 (0.6 to 0.8)",
        "QR: has no value; expected 0.5",
    ]
    near = {"MRR": {"mean": 0.5, "low": 0.5, "high": 0.5}}
    assert moved(EVALUATION, {"measures": near}) == []
    near["MRR"]["turns"] = 92
    assert moved(EVALUATION, {"measures": near}) == ["MRR: rests on 93 turns; expected 92"]
