"""Fits the weights of the reader `sentences`.

    python benchmarks/sentence_scoring.py [--data ../shared/data]

Prints the weights of ``convqa.components.readers._sentence_scoring``, fitted on the even conversations of inscit_dev
and mtrag_un, each turn with its first gold passage and with the ranked ones. First come the weights that rank the
sentences of a turn: over the sixteen best by words, their softmax is fitted to that of the sentences' F1 (divided by
0.1) with the nearest human answer, with a ridge of 0.01. Then come offset and scale, which turn the score into the
share of a sentence's words that the nearest answer has: a logistic over all sentences, where a turn's weight is the
square root of their number. Both use Newton's method. Words alone have one weight, so only the second step is fitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _common import arguments
from conversation_answers import GOLD, RANKED, Asked, asked_in, columns, scratch_cache
from conversation_sets import TUNED

from convqa.components.readers._sentence_scoring import Curve
from convqa.components.readers.sentences import SentencesReader as Reader
from convqa.metrics.squad import f1, normalize

RIDGE = 1e-2
POOL = 16
SHARP = 0.1


def even(data: Path, *ways: str) -> list[Asked]:
    """Return the turns on which settings are chosen, with these passages."""
    with scratch_cache():
        sets = [asked_in(data / "conversations" / name) for name in TUNED]
    return [one for found in sets for where in ways for one in found[where] if not one.odd]


def right(text: str, answers: Sequence[str]) -> float:
    """Return the share of a text's words that the nearest answer has."""
    said = Counter(normalize(text).split())
    shared = max((said & Counter(normalize(answer).split())).total() for answer in answers)
    return shared / said.total() if said else 0.0


def tables(some: Sequence[Asked], reader: Reader) -> list[np.ndarray]:
    """Return a row per sentence for each turn, best by words first: share of right words, F1, evidence."""
    reader.warm_up()
    made = []
    for one, (found, _) in zip(some, reader.evidence(*columns(some), count=None), strict=True):
        rows = []
        for sentence in sorted(found, key=lambda sentence: -sentence.evidence.words):
            known = sentence.evidence if reader.encoder else sentence.evidence[:1]
            nearest = max(f1(answer, sentence.text) for answer in one.answers)
            rows.append([right(sentence.text, one.answers), nearest, *known])
        made.append(np.array(rows))
    return made


def preferred(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Fit the weights that rank the best sentences of each turn first: softmax, compared with that of their F1."""
    every = np.concatenate([table[:, 2:] for table in tables])
    scale = every.std(axis=0)
    weights = np.zeros(len(scale))
    best = [table[:POOL] for table in tables if table[:POOL, 1].max() > 0]
    turns = [(table[:, 2:] / scale, sharpened(table[:, 1])) for table in best]
    for _ in range(20):
        slope, curve = -RIDGE * len(turns) * weights, RIDGE * len(turns) * np.eye(len(weights))
        for evidence, target in turns:
            made = np.exp(evidence @ weights - (evidence @ weights).max())
            made /= made.sum()
            center = made @ evidence
            slope += evidence.T @ (target - made)
            curve += (evidence.T * made) @ evidence - np.outer(center, center)
        weights += np.linalg.solve(curve, slope)
    found: np.ndarray = weights / scale
    return found


def sharpened(nearest: np.ndarray) -> np.ndarray:
    made: np.ndarray = np.exp((nearest - nearest.max()) / SHARP)
    made /= made.sum()
    return made


def calibrated(tables: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Fit offset and scale of the logistic that predicts the share of a sentence's words that is right."""
    shares = np.concatenate([table[:, 0] for table in tables])
    turns = np.concatenate([np.full(len(table), len(table) ** -0.5) for table in tables])
    line = np.stack([np.ones(len(shares)), np.concatenate([table[:, 2:] @ weights for table in tables])], axis=1)
    found = np.zeros(2)
    for _ in range(30):
        made = 1 / (1 + np.exp(-line @ found))
        slope = line.T @ (turns * (shares - made))
        found += np.linalg.solve((line.T * (turns * made * (1 - made))) @ line, slope)
    return np.array([found[0], *found[1] * weights])


def main() -> None:
    options = arguments(__doc__).parse_args()
    some = even(options.data, GOLD, RANKED)
    for name, reader in (("by words", Reader()), ("by words and vectors", Reader(encoder="encoder"))):
        found = tables(some, reader)
        weights = preferred(found) if reader.encoder else np.ones(1)
        print(name, Curve._fields[: len(weights) + 1], calibrated(found, weights).round(2))


if __name__ == "__main__":
    main()
