"""Progress as plain lines, as a log file gets it."""

from __future__ import annotations

from convqa.cli.progress import ProgressDisplay


def test_a_second_pass_begins_anew(capsys, monkeypatch):
    clock = {"now": 0.0}
    monkeypatch.setattr("convqa.cli.progress.time.monotonic", lambda: clock["now"])
    with ProgressDisplay("indexing", "passages") as shown:
        for clock["now"], done, total in ((0.0, 0, 0), (20.0, 200, 0), (40.0, 100, 200), (60.0, 150, 200)):
            shown(done, total)
    assert capsys.readouterr().err.splitlines() == [
        "indexing: 200 passages, 10 passages/s",
        "indexing: 100 of 200 passages",
        "indexing: 150 of 200 passages, 2.5 passages/s, 20 s left",
    ]


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
