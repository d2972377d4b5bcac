"""Responses in, an export out, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from convqa.domain import Response
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer


@dataclass(slots=True)
class Tally:
    """How many turns were exported: with an answer, as no-answers, and as no-answers because they failed."""

    answered: int = 0
    unanswered: int = 0
    failed: int = 0

    def count(self, response: Response) -> None:
        if response.answer is None:
            self.failed += 1
        elif response.answer.kind == "none":
            self.unanswered += 1
        else:
            self.answered += 1


def export(
    responses: Iterable[Response], format: Format, submission: Submission, write: Callable[[bytes], object]
) -> Tally:
    """Write responses in a format; memory holds one.

    :raises InputError: at a response that has no answer although it did not fail, or cites what it has not found.
    """
    tally = Tally()
    before = format.opening
    for response in responses:
        write(before + format.write(CitedAnswer.of(response), submission))
        before = format.between
        tally.count(response)
    write((format.opening if before is format.opening else b"") + format.closing)
    return tally
