"""What a run came to."""

from __future__ import annotations

from pathlib import Path

from convqa.domain import Answer, Failure, Response, Rewrite, TurnId
from convqa.driver.summary import Summary, Tally


def response(number, *notes, **parts):
    return Response(TurnId(1, number), Rewrite("q", (), notes), **parts)


def test_responses_are_counted_as_they_pass():
    failure = Failure("reader", "ValueError", "bad")
    given = [
        response(1, answer=Answer("none", "", reason="nothing found"), timings={"reader": 0.5}),
        response(2, "generate: empty", "gated: kept", timings={"reader": 0.25}),
        response(3, "generate: empty", error=failure),
        Response(TurnId(1, 4)),
    ]
    tally = Tally()
    assert list(tally.passing(given)) == given
    assert (tally.turns, tally.unanswered, tally.failures) == (4, 1, [(TurnId(1, 3), failure)])
    assert tally.timings == {"reader": 0.75}
    assert tally.notes == {"generate: empty": 2, "gated: kept": 1}


def test_the_record_has_notes_by_name():
    summary = Summary(Path("run.json"), 1, 2, 0, 0, 1, 0, (), 1.0, {}, {"b": 1, "a": 2})
    assert list(summary.to_json()["notes"].items()) == [("a", 2), ("b", 1)]
