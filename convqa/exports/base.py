"""What a format is, and how responses are written in one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from convqa.domain import Response
from convqa.exports.cited import CitedAnswer


@dataclass(frozen=True, slots=True)
class Submission:
    """Whose run it is, for the formats of shared tasks."""

    run_id: str
    team_id: str = "convqa"


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write cited answers down, one after the other.

    :param write: one answer; a file is ``opening``, the answers with ``between`` them, ``closing``.
    """

    name: str
    what: str
    write: Callable[[CitedAnswer, Submission], bytes]
    opening: bytes = b""
    between: bytes = b""
    closing: bytes = b""


@dataclass(slots=True)
class Tally:
    """How many turns were exported: with an answer, as no-answers, and as no-answers because they failed."""

    answered: int = 0
    unanswered: int = 0
    failed: int = 0


def export(
    responses: Iterable[Response], format: Format, submission: Submission, write: Callable[[bytes], object]
) -> Tally:
    """Write responses in a format; memory holds one.

    :raises InputError: at a response that has no answer although it did not fail, or cites what it has not found.
    """
    tally = Tally()
    for number, response in enumerate(responses):
        before = format.between if number else format.opening
        write(before + format.write(CitedAnswer.of(response), submission))
        if response.answer is None:
            tally.failed += 1
        elif response.answer.kind == "none":
            tally.unanswered += 1
        else:
            tally.answered += 1
    write((format.opening if tally == Tally() else b"") + format.closing)
    return tally
