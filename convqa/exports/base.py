"""What a format is, and how responses are written in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from convqa.domain import Response, TurnId
from convqa.exports.cited import CitedAnswer
from convqa.files import log

Check = Callable[[bytes], Iterable[str]]
"""Checks the answers of a file one after the other, as they were written, and gives the faults of each: the same words
for the same fault. It may remember earlier answers."""


def _unchecked() -> Check:
    return lambda _: ()


@dataclass(frozen=True, slots=True)
class Submission:
    """Whose run it is, for the formats of shared tasks."""

    run_id: str
    team_id: str = "convqa"


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write cited answers down, one after the other.

    :param write: one answer; a file is ``opening``, the answers with ``between`` them, ``closing``.
    :param check: makes the check of a file, by the rules of who takes it.
    """

    name: str
    what: str
    write: Callable[[CitedAnswer, Submission], bytes]
    opening: bytes = b""
    between: bytes = b""
    closing: bytes = b""
    check: Callable[[], Check] = _unchecked


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
    """Write responses in a format; memory holds a conversation. What its check finds is told: each fault once.

    :param responses: the turns of a conversation stand together.
    :raises InputError: at a response that has no answer although it did not fail, or cites what it has not found.
    """
    tally, check = Tally(), format.check()
    faults, first = Counter[str](), dict[str, TurnId]()
    before = format.opening
    for _, turns in groupby(responses, key=lambda response: response.id.conversation):
        conversation = list(turns)
        for response in conversation:
            data = format.write(CitedAnswer.of(response, alone=len(conversation) == 1), submission)
            write(before + data)
            before = format.between
            tally.count(response)
            for fault in set(check(data)):
                faults[fault] += 1
                first.setdefault(fault, response.id)
    write((format.opening if tally == Tally() else b"") + format.closing)
    for fault, count in sorted(faults.items()):
        log.warning("%s: %d turns. The first: %s", fault, count, first[fault])
    return tally
