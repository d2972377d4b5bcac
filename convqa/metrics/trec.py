"""Lines of TREC run files: ``turn Q0 passage rank score tag``, separated by blanks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import numpy

from convqa.metrics.ranking import ranked

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


def parsed_line(line: str) -> tuple[str, str, float]:
    """Parse a line into turn, passage and score, without decoding.

    >>> parsed_line("1_2 Q0 b%20c 1 2.0 mine")
    ('1_2', 'b%20c', 2.0)

    :raises ValueError: if the line is malformed, or the score is not finite.
    """
    turn, _, id, _, score, _ = line.split()
    if not math.isfinite(float(score)):
        raise ValueError(score)
    return turn, id, float(score)


def encoded(id: str) -> str:
    """Percent-encode blanks of every kind.

    >>> encoded("Types of cheese:19")
    'Types%20of%20cheese:19'
    """
    return _BLANK.sub(lambda blank: quote(blank[0]), id)
