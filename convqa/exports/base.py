"""What a format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from convqa.exports.cited import CitedAnswer


@dataclass(frozen=True, slots=True)
class Submission:
    """Whose run it is, for the formats of shared tasks."""

    run_id: str
    team_id: str = "convqa"


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write cited answers down, one after the other, and to read them back.

    :param write: one answer; a file is ``opening``, the answers with ``between`` them, ``closing``.
    :param read: a file's answers, sentences joined as in this language (formats that hold the answer's own text do not
        need it). :raises InputError: naming file, place and field of what is not in this format.
    """

    name: str
    what: str
    write: Callable[[CitedAnswer, Submission], bytes]
    read: Callable[[Path, str], Iterator[CitedAnswer]]
    opening: bytes = b""
    between: bytes = b""
    closing: bytes = b""
