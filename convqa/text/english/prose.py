"""Judge whether a sentence of English web text is fit to be quoted, and where it begins after a leading heading.

A small network reads the sentence without the question. Two convolutions over vectors of the words and their spelling
predict for each word whether the sentence begins there, and for the whole how fit it is. It is trained on labeled and
synthetic sentences by ``python benchmarks/quotes.py``; docs/reference/reading.md defines junk and reports the accuracy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

FIT = 0.77
"""Minimum fitness of a quoted sentence."""
_MIN_CUT_ODDS = 1.4
"""Minimum log odds of a cut."""
_MAX_ODDS = 7.0
"""Maximum log odds of fitness."""
_MIN_WORDS = 4
"""Minimum words after a cut."""

WEIGHTS = Path(__file__).with_name("prose.npz")
WIDTH = 5
"""Words that a convolution sees."""
STEP = 2
"""Dilation of the second convolution."""
EDGE = (WIDTH - 1) * (1 + STEP) // 2
"""Padding before and after a sentence."""

CLOSING = frozenset(".!?\u2026\"'\u201d\u2019\u00bb)]")
ABBREVIATED = re.compile(r"\b\w{1,4}\.\s*$")
"""A full stop that may mark an abbreviation."""
WORD = re.compile(r"(?:[A-Z]+[^\W\d_A-Z]*|[^\W\d_A-Z]+)(?:['\u2019][^\W\d_A-Z]+)?|\d+(?:[.,]\d+)*|\S")
"""A word, a number or a mark. Words that run together are split at their capitals."""


class EncodedSentence(NamedTuple):
    """The words and marks of a sentence: their offsets, their rows in the word vectors, and their spelling codes."""

    starts: list[int]
    rows: list[int]
    forms: list[int]


@lru_cache(16384)
def judged(text: str) -> tuple[int, float]:
    """Return where an English sentence begins after headings, and the log odds that the whole is fit to be quoted."""
    net = network()
    rows_by_word = vocabulary()
    sentence = encoded(text, rows_by_word)
    if not sentence.starts:
        return 0, -_MAX_ODDS
    edge_form = len(net["forms"]) - 1
    edge = [edge_form] * EDGE
    rows = [rows_by_word["<"]] * EDGE + sentence.rows + [rows_by_word[">"]] * EDGE
    states = net["words"][rows] + net["forms"][edge + sentence.forms + edge]
    states = _convolved(states, net["first"], net["first offset"], 1)
    states = _convolved(states, net["second"], net["second offset"], STEP)
    pooled = np.concatenate([states.max(axis=0), states.mean(axis=0)])
    hidden = pooled @ net["hidden"] + net["hidden offset"]
    fit = np.maximum(hidden, 0) @ net["fit"] + net["fit offset"]
    odds = float(np.clip(fit[0], -_MAX_ODDS, _MAX_ODDS))
    if odds >= 0:
        # A sentence that is fit as a whole has no heading: its capitals belong to names.
        return 0, odds
    begins = states[:-_MIN_WORDS] @ net["begins"] + net["begins offset"]
    cuts = np.flatnonzero(begins[1:] > _MIN_CUT_ODDS)
    return sentence.starts[cuts[-1] + 1] if len(cuts) else 0, odds


def fitness(odds: float, share: float) -> float:
    """Return the fitness of a sentence, 0 to 1, in a passage with this share of fit sentences."""
    return 1 / (1 + math.exp(-(0.47 * odds + 2.6 * share - 1.48)))


def _convolved(
    rows: Matrix,
    weights: Matrix,
    offset: Matrix,
    step: int,
) -> Matrix:
    # One small product per tap runs on one thread; larger ones would lose more to synchronization.
    count = len(rows) - (WIDTH - 1) * step
    states: Matrix = sum(rows[tap * step :][:count] @ part for tap, part in enumerate(weights)) + offset
    return states.clip(0)


def encoded(text: str, vocabulary: Mapping[str, int]) -> EncodedSentence:
    """Return the words of a sentence as input of the network; ``vocabulary`` maps each word to its row."""
    sentence = EncodedSentence([], [], [])
    seen: set[str] = set()
    end = 0
    for match in WORD.finditer(text):
        written = match.group()
        word = written.lower().replace("\u2019", "'")
        row = vocabulary.get(word)
        for kind in () if row else _kinds(word):
            row = row or vocabulary.get(kind)
        assert row is not None
        follows_space = match.start() > end or not end
        sentence.starts.append(match.start())
        sentence.rows.append(row)
        sentence.forms.append(4 * _shape(written) + 2 * follows_space + (word in seen))
        if len(word) > 3:
            seen.add(word)
        end = match.end()
    return sentence


def _kinds(word: str) -> list[str]:
    """Return the substitutes for a word without a vector: its ending, or the length of a number."""
    if word.isdigit():
        return [f"#{min(len(word), 5)}"]
    if word[0].isdigit():
        return ["#."]
    if word[0].isalpha():
        return [f"-{word[-3:]}", f"-{word[-2:]}", "-"]
    return ["?"]


def _shape(written: str) -> int:
    first, rest = written[0], written[1:]
    if first.isdigit():
        return 5
    if not first.isalpha():
        return 6
    if not first.isupper():
        return 1 if rest else 0
    if not rest:
        return 2
    return 4 if rest.isupper() else 3


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
