"""Export formats, and the export of responses in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from convqa.domain import Response
from convqa.exports.cited import CitedAnswer


@dataclass(frozen=True, slots=True)
class Submission:
    """The names of a run and its team, for the formats of shared tasks.

    ``run_type`` says how much people contributed. ``task``: the task that the run answers, "" if unknown.
    """

    run_id: str
    team_id: str = "convqa"
    run_type: str = "automatic"
    task: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """A format for cited answers.

    :param write: formats one answer; a file is ``opening``, the answers separated by ``between``, ``closing``.
    :param needs_answers: whether a run without answers is refused; otherwise it needs rankings.
    """

    name: str
    write: Callable[[CitedAnswer, Submission], bytes]
    opening: bytes = b""
    between: bytes = b""
    closing: bytes = b""
    needs_answers: bool = True


def export(
    responses: Iterable[Response],
    format: Format,
    submission: Submission,
    write: Callable[[bytes], object],
) -> Counter[str]:
    """Write responses in a format, one conversation in memory at a time.

    Return the number of turns that are ``answered``, ``unanswered``, and ``failed``, which are exported as unanswered.

    :param responses: the turns of a conversation are adjacent.
    :raises InputError: for a response without an answer that did not fail, or one that cites an unknown passage.
    """
    tally = Counter[str]()
    before = format.opening
    for _, group in groupby(responses, key=lambda response: response.id.conversation):
        turns = list(group)
        for response in turns:
            cited = CitedAnswer.of(response, len(turns) == 1, format.needs_answers)
            write(before + format.write(cited, submission))
            before = format.between
            outcome = "answered" if cited.answer.text else "unanswered"
            tally["failed" if response.error is not None else outcome] += 1
    write((b"" if tally else format.opening) + format.closing)
    return tally
