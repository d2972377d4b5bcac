"""Fit what a sentence's evidence counts: the curves of ``convqa.components.readers._sentence_scoring``.

    python benchmarks/sentence_curves.py [--data ../shared/data]

The conversations of even number of inscit_dev and mtrag_un, each turn with its first gold passage and with the first
ten that the pipeline ``default`` ranks: all of their sentences. What is fitted is the share of a sentence's words
(SQuAD's) that the nearest of the human answers has. A turn counts as the square root of the number of
its sentences.
Logistic regression by Newton's method, with a ridge of 0.001 of all weights.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from builders import GOLD, RANKED, ROOT, Asked, asked
from conversation_sets import TUNED

from convqa.components.readers.sentences import Sentences
from convqa.metrics.squad import normalise

RIDGE = 1e-3


def right(text: str, answers: Sequence[str]) -> float:
    """The share of a text's words that the nearest answer has."""
    said = Counter(normalise(text).split())
    shared = max((said & Counter(normalise(answer).split())).total() for answer in answers)
    return shared / said.total() if said else 0.0


def rows(some: Sequence[Asked], reader: Sentences) -> np.ndarray:
    """A row for each sentence: weight, what is fitted, 1, and its evidence."""
    reader.warm_up()
    columns = zip(*((one.turn, one.rewrite, one.ranking) for one in some), strict=True)
    made = []
    for one, (sentences, _) in zip(some, reader.evidence(*map(list, columns), most=None), strict=True):
        for sentence in sentences:
            known = sentence.evidence if reader.encoder else sentence.evidence[:1]
            made.append([len(sentences) ** -0.5, right(sentence.text, one.answers), 1.0, *known])
    return np.array(made)


def fitted(table: np.ndarray) -> np.ndarray:
    weights, wanted, evidence = table[:, 0], table[:, 1], table[:, 2:]
    ridge = RIDGE * weights.sum() * np.diag([0.0, *[1.0] * (evidence.shape[1] - 1)])
    found = np.zeros(evidence.shape[1])
    for _ in range(30):
        made = 1 / (1 + np.exp(-evidence @ found))
        slope = evidence.T @ (weights * (wanted - made)) - ridge @ found
        found += np.linalg.solve((evidence.T * (weights * made * (1 - made))) @ evidence + ridge, slope)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
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
        print(name, "offset, words, behind, cosine:", fitted(rows(even, Sentences(encoder=encoder))).round(2))


if __name__ == "__main__":
    main()
