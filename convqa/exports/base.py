"""The base of the formats, and the writing of responses in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from convqa.domain import Response
from convqa.exports.cited import CitedAnswer
from convqa.files import log


@dataclass(frozen=True, slots=True)
class Submission:
    """Whose run it is, for the formats of shared tasks."""

    run_id: str
    team_id: str = "convqa"
    run_type: str = "automatic"


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write cited answers down, one after the other.

    :param write: one answer; a file is ``opening``, the answers with ``between`` them, ``closing``.
    :param run_types: what a run may be called in the format: how much people had to do with it.
    :param needs_answers: whether a run whose pipeline makes none is refused; else it must have rankings.
    :param warnings: why whoever takes the file may refuse or change an answer: one text for all answers alike.
    """

    name: str
    what: str
    write: Callable[[CitedAnswer, Submission], bytes]
    opening: bytes = b""
    between: bytes = b""
    closing: bytes = b""
    warnings: Callable[[CitedAnswer], Iterable[str]] = lambda _: ()
    needs_answers: bool = True
    run_types: tuple[str, ...] = ("automatic",)


@dataclass(slots=True)
class Tally:
    """How many turns were exported: with an answer, as no-answers, and as no-answers because they failed."""

    answered: int = 0
    unanswered: int = 0
    failed: int = 0

    def count(self, response: Response) -> None:
        if response.error is not None:
            self.failed += 1
        elif response.answer is None or response.answer.kind == "none":
            self.unanswered += 1
        else:
            self.answered += 1


def export(
    responses: Iterable[Response], format: Format, submission: Submission, write: Callable[[bytes], object]
) -> Tally:
    """Write responses in a format; memory holds a conversation. Each warning comes once, with the number of turns.

    :param responses: the turns of a conversation stand together.
    :raises InputError: at a response that has no answer although it did not fail, or cites what it has not found.
    """
    tally, warnings, before = Tally(), Counter[str](), format.opening
    for _, turns in groupby(responses, key=lambda response: response.id.conversation):
        conversation = list(turns)
        for response in conversation:
            cited = CitedAnswer.of(response, len(conversation) == 1, format.needs_answers)
            write(before + format.write(cited, submission))
            before = format.between
            tally.count(response)
            warnings.update(format.warnings(cited))
    write((format.opening if tally == Tally() else b"") + format.closing)
    for warning, count in warnings.items():
        log.warning("%s (turns: %d)", warning, count)
    return tally
