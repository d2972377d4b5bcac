"""What a format is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
