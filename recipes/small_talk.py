"""Fit the weights that tell acts, such as thanks or "are you sure?", from questions: a multinomial logistic regression.

    python -m recipes.small_talk DATA

DATA has ``own-documents``, conversations with ``question``, ``kind`` and ``act`` in ``COLLECTION/turns.jsonl``, and
``qrecc/train-rewrites-4k.jsonl``, whose questions are no acts. Phrases of rare acts are in ``small_talk.yaml``. The
collections of ``untrained.txt`` are left out; prints how many of their turns are told right.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from convqa.components.acts import SOCIAL
from convqa.components.rewriters.small_talk import JUDGED, MIN_LOG_ODDS, WEIGHTS, features, words_of
from convqa.models import load_encoder
from convqa.safe_yaml import read_yaml
from recipes.own_documents import FOLDER
from recipes.rewrites import qrecc_4k

QUESTION = len(JUDGED)
"""The class of a question."""

VARIANCE = 50.0
"""Prior variance of the weights of the vector."""
FREE_VARIANCE = 1000.0
"""That of the next three."""
WORD_VARIANCE = 5.0
"""That of words."""

MIN_TEXTS = 3
"""Texts of acts that have a word, at least."""

POLITE_EVERY = 10
"""Every so many questions get a polite opening."""

ROUNDS = 250


def turns(folder: Path, names: list[str]) -> tuple[list[str], list[int]]:
    """Return the questions of collections and the classes of their acts."""
    questions = []
    labels = []
    for name in names:
        for line in (folder / name / "turns.jsonl").read_text(encoding="utf-8").splitlines():
            turn = json.loads(line)
            is_talk = turn["kind"] == "talk"
            if not is_talk or turn["act"] in JUDGED:
                questions.append(turn["question"])
                labels.append(JUDGED.index(turn["act"]) if is_talk else QUESTION)
    return questions, labels


def qrecc_questions(path: Path) -> list[str]:
    """Return the questions of QReCC's training part."""
    return sorted({example.question for example in qrecc_4k(path)})


def phrases(texts: list[str], labels: list[int]) -> tuple[list[str], list[int]]:
    """Return the phrases of ``small_talk.yaml`` with the classes of their acts, and questions that begin politely."""
    lists = read_yaml(Path(__file__).with_suffix(".yaml"), "phrases")
    openings = lists.pop("before")
    classes = (*JUDGED, "question")
    pairs = [(text, classes.index(act)) for act, texts in lists.items() for text in texts]
    questions = [text for text, label in zip(texts, labels, strict=True) if label == QUESTION]
    for index, question in enumerate(questions[::POLITE_EVERY]):
        pairs.append((f"{openings[index % len(openings)]} {question}", QUESTION))
    return [text for text, _ in pairs], [label for _, label in pairs]


def frequent_words(texts: list[str], labels: list[int]) -> list[str]:
    """Return the words that enough texts of acts have."""
    counts: Counter[str] = Counter()
    for text, label in zip(texts, labels, strict=True):
        if label != QUESTION:
            counts.update(words_of(text))
    return sorted(word for word, count in counts.items() if count >= MIN_TEXTS)


def fitted(rows: np.ndarray, labels: np.ndarray, words: int) -> np.ndarray:
    """Return the weights of the acts, (acts, features).

    Newton's method with a bound of the curvature (Boehning, "Multinomial logistic regression algorithm", 1992).
    """
    acts = len(JUDGED)
    vector = rows.shape[1] - words - 3
    precision = np.repeat([1 / VARIANCE, 1 / FREE_VARIANCE, 1 / WORD_VARIANCE], [vector, 3, words])
    weights = np.zeros((acts, rows.shape[1]))
    wanted = np.eye(acts + 1)[labels][:, :acts]
    step = np.linalg.inv(0.5 * (rows.T @ rows) + np.diag(precision))
    for _ in range(ROUNDS):
        logits = np.hstack([rows @ weights.T, np.zeros((len(rows), 1))])
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        slope = (wanted - shares[:, :acts]).T @ rows - weights * precision
        weights += slope @ step
    return weights


def main() -> None:
    data = Path(sys.argv[1])
    folder = data / FOLDER
    untrained = (folder / "untrained.txt").read_text(encoding="utf-8").split()
    names = sorted(path.parent.name for path in folder.glob("*/turns.jsonl"))
    encoder = load_encoder("encoder")
    texts, labels = turns(folder, [name for name in names if name not in untrained])
    more, their_labels = phrases(texts, labels)
    more += qrecc_questions(data / "qrecc" / "train-rewrites-4k.jsonl")
    their_labels += [QUESTION] * (len(more) - len(their_labels))
    texts += more
    labels += their_labels
    words = frequent_words(texts, labels)
    weights = fitted(features(encoder, texts, words).astype(np.float64), np.array(labels), len(words))
    np.savez_compressed(WEIGHTS, weights=weights.astype(np.float32), words=np.array(words))
    texts, labels = turns(folder, untrained)
    log_odds = features(encoder, texts, words) @ weights.T
    taken = np.logaddexp.reduce(log_odds, axis=1) > MIN_LOG_ODDS
    right = exact = wrong = asked = 0
    for is_taken, odds, label in zip(taken, log_odds, labels, strict=True):
        if label == QUESTION:
            asked += 1
            wrong += is_taken
        elif is_taken:
            right += 1
            best = int(np.argmax(odds))
            exact += best == label or max(best, label) < len(SOCIAL) - 1
    print(f"acts: {right} of {len(labels) - asked}, {exact} of the right kind")
    print(f"questions taken for acts: {wrong} of {asked}")


if __name__ == "__main__":
    main()
