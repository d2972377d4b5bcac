"""What a run came to."""

from __future__ import annotations

from convqa.domain import Answer, Failure, Response, Rewrite, TurnId
from convqa.driver.summary import RunSummary


def response(number, *notes, **parts):
    return Response(TurnId(1, number), Rewrite("q", (), notes), **parts)


def test_responses_are_counted_as_they_pass():
    failure = Failure("reader", "ValueError", "bad")
    given = [
        response(1, answer=Answer("none", "", reason="nothing found"), timings={"reader": 0.5}),
        response(2, "small_talk: kept", "generate: empty", timings={"reader": 0.25}),
        response(3, "generate: empty", error=failure),
        Response(TurnId(1, 4)),
    ]
    summary = RunSummary()
    assert list(summary.counting(given)) == given
    assert (summary.turns, summary.unanswered, summary.failures) == (4, 1, [(TurnId(1, 3), failure)])
    assert summary.timings == {"reader": 0.75}
    assert list(summary.to_json()["notes"].items()) == [("generate: empty", 2), ("small_talk: kept", 1)]
