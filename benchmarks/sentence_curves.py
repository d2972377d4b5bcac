"""Fit what a sentence's evidence counts: the curves of ``convqa.components.readers._sentence_scoring``.

    python benchmarks/sentence_curves.py [--data ../shared/data]

The conversations of even number of inscit_dev and mtrag_un, each turn with its first gold passage and with the first
ten that the pipeline ``default`` ranks. First the weights, by which the best sentences of a turn are to come first:
over the sixteen best by words, their softmax is fitted to that of the sentences' F1 (SQuAD's, divided by 0.1) against
the nearest human answer, with a ridge of 0.01 of the weights. Then offset and scale, by which the score is the share
of a sentence's words that the nearest answer has: a logistic over all sentences, where a turn counts as the square root
of their number. Both by Newton's method. Words alone have one weight: only the second is fitted.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence

import numpy as np
from _common import arguments
from builders import GOLD, RANKED, Asked, asked
from conversation_sets import TUNED

from convqa.components.readers._sentence_scoring import Curve
from convqa.components.readers.sentences import Sentences
from convqa.metrics.squad import f1, normalise

RIDGE = 1e-2
POOL = 16
SHARP = 0.1


def right(text: str, answers: Sequence[str]) -> float:
    """The share of a text's words that the nearest answer has."""
    said = Counter(normalise(text).split())
    shared = max((said & Counter(normalise(answer).split())).total() for answer in answers)
    return shared / said.total() if said else 0.0


def tables(some: Sequence[Asked], reader: Sentences) -> list[np.ndarray]:
    """For each turn a row for each sentence, best by words first: share of its words that is right, F1, evidence."""
    reader.warm_up()
    columns = zip(*((one.turn, one.rewrite, one.ranking) for one in some), strict=True)
    made = []
    for one, (sentences, _) in zip(some, reader.evidence(*map(list, columns), most=None), strict=True):
        rows = []
        for sentence in sorted(sentences, key=lambda sentence: -sentence.evidence.words):
            known = sentence.evidence if reader.encoder else sentence.evidence[:1]
            nearest = max(f1(answer, sentence.text) for answer in one.answers)
            rows.append([right(sentence.text, one.answers), nearest, *known])
        made.append(np.array(rows))
    return made


def preferred(tables: Sequence[np.ndarray]) -> np.ndarray:
    """The weights by which the best sentences of each turn stand out: softmax, against that of their F1."""
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
            centre = made @ evidence
            slope += evidence.T @ (target - made)
            curve += (evidence.T * made) @ evidence - np.outer(centre, centre)
        weights += np.linalg.solve(curve, slope)
    return weights / scale


def sharpened(nearest: np.ndarray) -> np.ndarray:
    made = np.exp((nearest - nearest.max()) / SHARP)
    return made / made.sum()


def calibrated(tables: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Offset and weights of the logistic along these weights that says what share of a sentence's words is right."""
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
    parser = arguments(__doc__)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        ranked = [
            some
            for name in TUNED
            for where, some in asked(options.data / "conversations" / name).items()
            if where in (GOLD, RANKED)
        ]
    even = [one for some in ranked for one in some if int(one.turn.id.conversation) % 2 == 0]
    for name, encoder in (("by words", None), ("by words and vectors", "encoder")):
        found = tables(even, Sentences(encoder=encoder))
        weights = preferred(found) if encoder else np.ones(1)
        print(name, Curve._fields[: len(weights) + 1], calibrated(found, weights).round(2))


if __name__ == "__main__":
    main()
