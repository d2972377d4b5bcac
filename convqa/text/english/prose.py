"""Whether a sentence of English web text is fit to be quoted, and where it begins behind a heading that runs into it.

A small network reads the sentence alone, and knows no question. Two convolutions over vectors of its words and of how
they are written say of each word whether the sentence begins there, behind a heading, and how fit the whole is.
``python benchmarks/quotes.py`` trains it, on sentences that were read and on made ones; docs/reading.md says what
counts as junk, and how good this is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from convqa.text.cache import remembered

Matrix = NDArray[np.float32]

FIT = 0.77
"""Fitness from which a sentence is quoted."""
_SURE = 1.4
"""Log odds from which a sentence is cut."""
_MOST = 7.0
"""Log odds that are believed at most."""
_SHORTEST = 4
"""Words that a cut leaves."""

WEIGHTS = Path(__file__).with_name("prose.npz")
WIDTH, STEP = 5, 2
"""Words that a convolution sees; the second one sees every other."""
EDGE = (WIDTH - 1) * (1 + STEP) // 2
"""Places before a sentence, and behind it, at which the convolutions look."""

CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]")
ABBREVIATED = re.compile(r"\b\w{1,4}\.\s*$")
"""A full stop that may be no sentence's."""
WORD = re.compile(r"(?:[A-Z]+[^\W\d_A-Z]*|[^\W\d_A-Z]+)(?:['\u2019][^\W\d_A-Z]+)?|\d+(?:[.,]\d+)*|\S")
"""A word, a number or a mark. What is glued together comes apart at its capitals."""


class Words(NamedTuple):
    """The words and marks of a sentence: where each begins, its row among the vectors, and how it is written."""

    starts: list[int]
    rows: list[int]
    forms: list[int]


@remembered(16384)
def judged(text: str) -> tuple[int, float]:
    """Where an English sentence surely begins, behind headings, and the log odds that it is fit to be quoted whole."""
    net = network()
    words = described(text, places())
    if not words.starts:
        return 0, -_MOST
    edge = [len(net["forms"]) - 1] * EDGE
    rows = [places()["<"]] * EDGE + words.rows + [places()[">"]] * EDGE
    seen = net["words"][rows] + net["forms"][edge + words.forms + edge]
    seen = _convolved(seen, net["first"], net["first offset"], 1)
    seen = _convolved(seen, net["second"], net["second offset"], STEP)
    begins = seen[:-_SHORTEST] @ net["begins"] + net["begins offset"]
    hidden = np.concatenate([seen.max(axis=0), seen.mean(axis=0)]) @ net["hidden"] + net["hidden offset"]
    fit = np.maximum(hidden, 0) @ net["fit"] + net["fit offset"]
    odds = float(np.clip(fit[0], -_MOST, _MOST))
    # What is fit as a whole has no heading: the capital is that of a name.
    sure = np.flatnonzero(begins[1:] > _SURE)
    return words.starts[sure[-1] + 1] if odds < 0 and len(sure) else 0, odds


def among(odds: float, share: float) -> float:
    """How fit a sentence is, 0 to 1, in a passage of whose sentences this share is fit by themselves."""
    return 1 / (1 + math.exp(-(0.47 * odds + 2.6 * share - 1.48)))


def _convolved(rows: Matrix, weights: Matrix, offset: Matrix, step: int) -> Matrix:
    # Products so small are computed on one thread: several would wait for each other longer than they work.
    count = len(rows) - (WIDTH - 1) * step
    seen: Matrix = sum(rows[place * step :][:count] @ part for place, part in enumerate(weights)) + offset
    return seen.clip(0)


def described(text: str, places: Mapping[str, int]) -> Words:
    """The words of a sentence as the network reads them; ``places`` are rows, as :func:`places` gives them."""
    words = Words([], [], [])
    known: set[str] = set()
    end = 0
    for found in WORD.finditer(text):
        written = found.group()
        word = written.lower().replace("\u2019", "'")
        words.starts.append(found.start())
        words.rows.append(places.get(word) or next(filter(None, map(places.get, _kinds(word)))))
        words.forms.append(4 * _shape(written) + 2 * (found.start() > end or not end) + (word in known))
        if len(word) > 3:
            known.add(word)
        end = found.end()
    return words


def _kinds(word: str) -> tuple[str, ...]:
    """What stands for a word that has no vector: its ending, or how long a number it is."""
    if word[0].isdigit():
        return (f"#{min(len(word), 5)}" if word.isdigit() else "#.",)
    return (f"-{word[-3:]}", f"-{word[-2:]}", "-") if word[0].isalpha() else ("?",)


def _shape(written: str) -> int:
    first, rest = written[0], written[1:]
    if first.isalpha():
        large = 2 if not rest else 4 if rest.isupper() else 3
        return large if first.isupper() else bool(rest)
    return 5 if first.isdigit() else 6


@cache
def network() -> Mapping[str, Matrix]:
    with np.load(WEIGHTS) as file:
        net = {name: file[name].astype(np.float32) for name in file.files if name != "vocabulary"}
    return net | {"words": net["words"] * net.pop("scale")}


@cache
def places() -> Mapping[str, int]:
    """The row of each word among the vectors of words; of a kind of words (``-ing``), behind a sign."""
    with np.load(WEIGHTS) as file:
        return {word: row for row, word in enumerate(bytes(file["vocabulary"]).decode().split("\n"))}
