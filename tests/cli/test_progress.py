"""Progress as plain lines, as a log file gets it."""

from __future__ import annotations

from convqa.cli.progress import ProgressDisplay


def test_slow_work_has_a_rate(capsys, monkeypatch):
    clock = {"now": 0.0}
    monkeypatch.setattr("convqa.cli.progress.time.monotonic", lambda: clock["now"])
    with ProgressDisplay("encoding", "passages") as shown:
        for clock["now"], done in ((0.0, 0), (25.0, 1), (60.0, 5)):
            shown(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "encoding: 1 of 100 passages, 0.04 passages/s, 2475 s left",
        "encoding: 5 of 100 passages, 0.083 passages/s, 1140 s left",
    ]
