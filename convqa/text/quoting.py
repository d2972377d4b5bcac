"""Boundaries of Japanese sentences: one that holds others in brackets, and goes on behind them, is one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

FARTHEST = 400
"""Characters from a bracket to the one that closes it: farther off, one of them was forgotten."""

_OPEN = "\u300c\u300e\uff08\u3010\u3008\u300a\u3014\uff3b"
_CLOSED = "\u300d\u300f\uff09\u3011\u3009\u300b\u3015\uff3d"
_BRACKET = re.compile(f"[{_OPEN}{_CLOSED}\n]")
_NESTED = 8
"""How deep a closing bracket looks for its partner, so that a million brackets cost nothing."""

_NUMBERED = re.compile(r"[\u3002\uff01\uff1f](?=\d)")

_LEFT_OVER = re.compile(f"\\s{{0,20}}[{_CLOSED}\u3001\u3002\uff0c\uff0e]")
"""Signs with which no sentence begins."""

# Particles and what leans on a quotation, but not as the beginning of a word that opens sentences (ところが, はじめに).
_LEANS = re.compile(
    "って|など|を|だ(?!が|から|って|け)|から(?!だ)|まで(?!も)|と(?!ころ|もかく|もあれ|はいえ|にかく|りわけ|くに|ても|ある|き)|の(?!ち|んびり)"
    "|が(?!っ|ん)|は(?!い|じ|る|た|な|や)|に(?!も|ほ|わ|ぎ|っ|こ)|で(?!も|は|すから|きれ)|も(?!し|う|ち|っ|の|は|と)|や(?!が|っ|は|り|め)"
)


def joined(text: str, boundaries: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """sentencex's boundaries put right.

    Without those inside brackets, before a closing one, or between a quotation and its particle; and with those between
    a full stop and a number, where it sees a decimal point.

    >>> joined("彼は「行く。」と言った。2年後。", [(0, 7), (7, 16)])
    [(0, 12), (12, 16)]
    """
    spans = sorted(_bracketed(text))
    starts = [start for start, _ in spans]
    reach = 0
    farthest = [reach := max(reach, end) for _, end in spans]
    found: list[int] = []
    for place in sorted({*(start for start, _ in boundaries), *(stop.end() for stop in _NUMBERED.finditer(text))}):
        before = bisect_left(starts, place)
        inside = before > 0 and place <= farthest[before - 1]
        if not found or not (inside or _goes_on(text, place)):
            found.append(place)
    return list(pairwise([*found, boundaries[-1][1]])) if boundaries else []


def _goes_on(text: str, place: int) -> bool:
    if _LEFT_OVER.match(text, place):
        return True
    return text[place - 1] in _CLOSED and _LEANS.match(text, place) is not None


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    """Places of brackets and of those that close them, on one line."""
    opened: list[tuple[str, int]] = []
    for match in _BRACKET.finditer(text):
        sign = match.group()
        if sign == "\n":
            opened.clear()
        elif sign in _OPEN:
            opened.append((_CLOSED[_OPEN.index(sign)], match.start()))
        else:
            partners = [place for place, (wanted, _) in enumerate(opened[-_NESTED:]) if wanted == sign]
            if partners:
                start = opened[-_NESTED:][partners[-1]][1]
                del opened[len(opened) - len(opened[-_NESTED:]) + partners[-1] :]
                if match.start() - start <= FARTHEST:
                    yield start, match.start()
