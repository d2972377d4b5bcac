"""POSSCORE (Liu, Zhou, Wilson and Roelleke, CIKM 2021; package posscore 0.0.1), with tags and vectors as input."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import exp

import numpy
from numpy.typing import NDArray

CONTENT = frozenset({"ADJ", "ADV", "VERB", "PROPN", "NOUN"})
"""Universal part-of-speech tags of content words."""

_WORD = re.compile(r"(?:(?!\d)\w)+")

Tagged = Sequence[tuple[str, str]]
"""(word, tag) pairs of one text."""
Vector = NDArray[numpy.float32]


def posscore(
    truth: Tagged,
    model: Tagged,
    vectors: Mapping[str, Vector],
) -> float:
    """Cosine of the content words' mean vectors, weighted by content shares, plus that of the other words.

    The weight is exp(1 - share in the truth / share in the model), 1 if a side has no content words. An undefined
    cosine counts 0. The range is about 0 to 2, or more if the model is denser in content words.

    >>> vectors = {"cat": numpy.array([1.0, 0.0]), "dog": numpy.array([0.0, 1.0])}
    >>> posscore([("cat", "NOUN")], [("cat", "NOUN")], vectors)
    1.0
    """
    truth_content, truth_other = _split(truth)
    model_content, model_other = _split(model)
    weight = 1.0
    if truth_content and model_content:
        truth_share = len(truth_content) / len(truth)
        model_share = len(model_content) / len(model)
        weight = exp(1 - truth_share / model_share)
    content = _cosine(truth_content, model_content, vectors)
    other = _cosine(truth_other, model_other, vectors)
    return weight * content + other


def _split(text: Tagged) -> tuple[list[str], list[str]]:
    """Return the content words and the other words."""
    content = [word for word, tag in text if tag in CONTENT]
    other = [word for word, tag in text if tag not in CONTENT]
    return content, other


def _cosine(
    truth: Sequence[str],
    model: Sequence[str],
    vectors: Mapping[str, Vector],
) -> float:
    means = []
    for words in (truth, model):
        known = [vectors[word] for word in lookups(words) if word in vectors]
        if not known:
            return 0.0
        means.append(numpy.mean(known, axis=0, dtype=numpy.float32))
    truth_mean, model_mean = means
    truth_norm = float(numpy.linalg.norm(truth_mean))
    model_norm = float(numpy.linalg.norm(model_mean))
    if not truth_norm or not model_norm:
        return 0.0
    return float(numpy.dot(truth_mean, model_mean)) / (truth_norm * model_norm)


def lookups(words: Sequence[str]) -> list[str]:
    """Return the words whose vectors count: 2 to 15 letters, as in gensim's simple_preprocess.

    >>> lookups(["Rome", "b", "1950s", "it_is"])
    ['rome', 'it_is']
    """
    text = " ".join(words).lower()
    return [word for word in _WORD.findall(text) if 2 <= len(word) <= 15 and not word.startswith("_")]
