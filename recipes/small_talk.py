"""Fit the weights that tell small talk from questions: a logistic regression on vectors of the shipped encoder.

    python -m recipes.small_talk FOLDER

FOLDER has conversations over own documents: ``COLLECTION/turns.jsonl`` with ``question``, ``kind`` and ``act``, and
``untrained.txt``, which names the collections that are left out. Thanks, greetings, praise and goodbyes are small talk;
other acts, such as "are you sure?", are not used. Prints how many of the untrained turns are told right.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from convqa.components.rewriters.small_talk import MIN_LOG_ODDS, WEIGHTS, features
from convqa.models import load_encoder

ACTS = {"thanks", "greeting", "praise", "bye"}
VARIANCE = 10.0
"""Prior variance of the weights of the vector."""
FREE_VARIANCE = 1000.0
"""That of the other three."""


def turns(folder: Path, names: list[str]) -> tuple[list[str], list[bool]]:
    """Return the questions of collections and whether each is small talk."""
    questions = []
    labels = []
    for name in names:
        for line in (folder / name / "turns.jsonl").read_text(encoding="utf-8").splitlines():
            turn = json.loads(line)
            is_talk = turn["kind"] == "talk"
            if not is_talk or turn["act"] in ACTS:
                questions.append(turn["question"])
                labels.append(is_talk)
    return questions, labels


def fitted(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the weights by Newton's method."""
    precision = np.full(rows.shape[1], 1 / VARIANCE)
    precision[-3:] = 1 / FREE_VARIANCE
    weights = np.zeros(rows.shape[1])
    for _ in range(60):
        chances = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows.T * np.maximum(chances * (1 - chances), 1e-6)) @ rows + np.diag(precision)
        weights += np.linalg.solve(curvature, rows.T @ (labels - chances) - precision * weights)
    return weights


def main() -> None:
    folder = Path(sys.argv[1])
    untrained = (folder / "untrained.txt").read_text(encoding="utf-8").split()
    names = sorted(path.parent.name for path in folder.glob("*/turns.jsonl"))
    encoder = load_encoder("encoder")
    questions, labels = turns(folder, [name for name in names if name not in untrained])
    weights = fitted(features(encoder, questions).astype(np.float64), np.array(labels, np.float64))
    np.save(WEIGHTS, weights.astype(np.float32))
    questions, labels = turns(folder, untrained)
    taken = features(encoder, questions) @ weights > MIN_LOG_ODDS
    right = sum(taken[index] for index, label in enumerate(labels) if label)
    wrong = sum(taken[index] for index, label in enumerate(labels) if not label)
    print(f"small talk: {right} of {sum(labels)}; questions taken for it: {wrong} of {len(labels) - sum(labels)}")


if __name__ == "__main__":
    main()
