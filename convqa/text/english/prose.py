"""Judge whether a sentence of English web text is fit to be quoted, and where it begins after a leading heading.

A small network reads the sentence without the question. Two convolutions over vectors of the words and their spelling
predict for each word whether the sentence begins there, and for the whole how fit it is. It is trained on labelled and
synthetic sentences by ``python benchmarks/quotes.py``; docs/reference/reading.md defines junk and reports the accuracy.
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
"""Minimum fitness of a quoted sentence."""
_SURE = 1.4
"""Minimum log odds of a cut."""
_MOST = 7.0
"""Maximum log odds of fitness."""
_SHORTEST = 4
"""Minimum words after a cut."""

WEIGHTS = Path(__file__).with_name("prose.npz")
WIDTH, STEP = 5, 2
"""Words that a convolution sees, and the dilation of the second one."""
EDGE = (WIDTH - 1) * (1 + STEP) // 2
"""Padding before and after a sentence."""

CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]")
ABBREVIATED = re.compile(r"\b\w{1,4}\.\s*$")
"""A full stop that may mark an abbreviation."""
WORD = re.compile(r"(?:[A-Z]+[^\W\d_A-Z]*|[^\W\d_A-Z]+)(?:['\u2019][^\W\d_A-Z]+)?|\d+(?:[.,]\d+)*|\S")
"""A word, a number or a mark. Words that run together are split at their capitals."""


class Words(NamedTuple):
    """The words and marks of a sentence: their offsets, their rows in the word vectors, and their spelling codes."""

    starts: list[int]
    rows: list[int]
    forms: list[int]


@remembered(16384)
def judged(text: str) -> tuple[int, float]:
    """Return where an English sentence begins after headings, and the log odds that the whole is fit to be quoted."""
    net = network()
    words = encoded(text, vocabulary())
    if not words.starts:
        return 0, -_MOST
    edge = [len(net["forms"]) - 1] * EDGE
    rows = [vocabulary()["<"]] * EDGE + words.rows + [vocabulary()[">"]] * EDGE
    states = net["words"][rows] + net["forms"][edge + words.forms + edge]
    states = _convolved(states, net["first"], net["first offset"], 1)
    states = _convolved(states, net["second"], net["second offset"], STEP)
    begins = states[:-_SHORTEST] @ net["begins"] + net["begins offset"]
    hidden = np.concatenate([states.max(axis=0), states.mean(axis=0)]) @ net["hidden"] + net["hidden offset"]
    fit = np.maximum(hidden, 0) @ net["fit"] + net["fit offset"]
    odds = float(np.clip(fit[0], -_MOST, _MOST))
    # A sentence that is fit as a whole has no heading: its capitals belong to names.
    sure = np.flatnonzero(begins[1:] > _SURE)
    return words.starts[sure[-1] + 1] if odds < 0 and len(sure) else 0, odds


def among(odds: float, share: float) -> float:
    """Return the fitness of a sentence, 0 to 1, in a passage with this share of fit sentences."""
    return 1 / (1 + math.exp(-(0.47 * odds + 2.6 * share - 1.48)))


def _convolved(rows: Matrix, weights: Matrix, offset: Matrix, step: int) -> Matrix:
    # One small product per tap runs on one thread; larger ones would lose more to synchronization.
    count = len(rows) - (WIDTH - 1) * step
    states: Matrix = sum(rows[tap * step :][:count] @ part for tap, part in enumerate(weights)) + offset
    return states.clip(0)


def encoded(text: str, vocabulary: Mapping[str, int]) -> Words:
    """Return the words of a sentence as input of the network; ``vocabulary`` maps each word to its row."""
    words = Words([], [], [])
    seen: set[str] = set()
    end = 0
    for match in WORD.finditer(text):
        written = match.group()
        word = written.lower().replace("\u2019", "'")
        words.starts.append(match.start())
        words.rows.append(vocabulary.get(word) or next(filter(None, map(vocabulary.get, _kinds(word)))))
        words.forms.append(4 * _shape(written) + 2 * (match.start() > end or not end) + (word in seen))
        if len(word) > 3:
            seen.add(word)
        end = match.end()
    return words


def _kinds(word: str) -> tuple[str, ...]:
    """Return the substitutes for a word without a vector: its ending, or the length of a number."""
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
def vocabulary() -> Mapping[str, int]:
    """Return word -> row in the word vectors. Kinds of words have a prefix, such as ``-ing``."""
    with np.load(WEIGHTS) as file:
        return {word: row for row, word in enumerate(bytes(file["vocabulary"]).decode().split("\n"))}
