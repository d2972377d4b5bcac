"""Lines of TREC run files: ``turn Q0 passage rank score tag``, separated by blanks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import numpy

from convqa.errors import InputError
from convqa.metrics.ranking import ranked
from convqa.validation import shorten

EXPECTED = "TURN Q0 PASSAGE RANK SCORE TAG, separated by spaces"
NOTHING = "(nothing)"
"""The passage id of an empty ranking."""
_BLANK = re.compile(r"\s")
_LARGEST = float(numpy.finfo(numpy.float32).max)


def run_lines(
    turn: str,
    scores: Mapping[str, float],
    tag: str,
) -> Iterator[str]:
    """Yield the lines of a turn's ranking. A tie is broken by the next lower 32-bit score, so that all tools see the
    same order, and blanks in ids are percent-encoded.

    >>> list(run_lines("1_2", {"b c": 2.0, "a": 2.0}, "mine"))
    ['1_2 Q0 b%20c 1 2.0 mine\\n', '1_2 Q0 a 2 1.9999999 mine\\n']
    """
    limit = numpy.finfo(numpy.float32).max
    for rank, id in enumerate(ranked(scores), 1):
        finite = max(min(scores[id], _LARGEST), -_LARGEST)
        score = min(numpy.float32(finite), limit)
        limit = numpy.nextafter(score, numpy.float32(-numpy.inf))
        yield f"{encoded(turn)} Q0 {encoded(id)} {rank} {score!s} {encoded(tag)}\n"


def read_rankings(path: Path, lines: Iterable[tuple[int, str]]) -> dict[str, dict[str, float]]:
    """Return turn -> passage -> score of numbered lines, without decoding. Blank lines are skipped.

    >>> read_rankings(Path("run.trec"), [(1, "1_2 Q0 b%20c 1 2.0 mine")])
    {'1_2': {'b%20c': 2.0}}

    :raises InputError: naming a malformed line, or one whose score is not finite.
    """
    rankings: dict[str, dict[str, float]] = {}
    for number, line in lines:
        try:
            turn, _, id, _, score, _ = line.split()
            value = float(score)
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            rankings.setdefault(turn, {})[id] = value
        elif line.strip():
            raise InputError(f"{path}: line {number}: expected {EXPECTED}, got {shorten(line)}.")
    return rankings


def encoded(id: str) -> str:
    """Percent-encode blanks of every kind.

    >>> encoded("Types of cheese:19")
    'Types%20of%20cheese:19'
    """
    return _BLANK.sub(lambda blank: quote(blank[0]), id)
