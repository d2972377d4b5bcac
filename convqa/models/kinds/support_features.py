"""What the shipped support check knows of a sentence and its evidence: numbers, each 0 to 1 but for a cosine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from convqa.models.kinds.encoder import TextEncoder
from convqa.text.sentences import sentences
from convqa.text.support import overlap

SHARE = "share"
FEATURES = (SHARE, "pairs", "numbers", "near numbers", "names", "near names", "opposed", "cosine", "nearest")
"""Those of :class:`convqa.text.support.Overlap`; ``near``: in the two neighbouring sentences of the evidence that have
most of the sentence. ``cosine``: of the sentence and the evidence, ``nearest``: and the nearest sentence of it.
None says how long the sentence is: what trains has hardly a short one that is not supported."""

_LONGEST = 1000
"""Characters of evidence that become one vector; of several the nearest counts."""

Pair = tuple[str, str]
"""Evidence and sentence."""


def features(encoder: TextEncoder, pairs: Sequence[Pair], language: str = "en") -> NDArray[np.float64]:
    """An array (pairs, features), in order. A text that comes several times is encoded once.

    :raises InputError: for a language without an analysis.
    """
    evidence = {text: _parts(text, language) for text, _ in pairs}
    texts = {text: [*parts, *_chunks(parts)] for text, parts in evidence.items()}
    wanted = list(dict.fromkeys([*(text for some in texts.values() for text in some), *(said for _, said in pairs)]))
    # Like lengths follow each other, as models on torch want them.
    wanted.sort(key=len)
    vectors = dict(zip(wanted, encoder.encode(wanted), strict=True))
    rows = [_words(text, said, evidence[text], language) + _cosines(said, evidence[text], texts[text], vectors)
            for text, said in pairs]  # fmt: skip
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(FEATURES))


def _words(evidence: str, sentence: str, parts: Sequence[str], language: str) -> list[float]:
    everywhere = overlap(evidence, sentence, language)
    windows = [f"{one}\n{other}" for one, other in pairwise(parts)] or list(parts)
    near = max((overlap(window, sentence, language) for window in windows), default=everywhere)
    return [
        everywhere.share, everywhere.pairs, everywhere.numbers, near.numbers, everywhere.names, near.names,
        float(everywhere.opposed),
    ]  # fmt: skip


def _cosines(
    sentence: str, parts: Sequence[str], texts: Sequence[str], vectors: dict[str, NDArray[np.float32]]
) -> list[float]:
    """The cosines to the nearest piece and to the nearest sentence; 0 without evidence."""
    if not texts:
        return [0.0, 0.0]
    each = [float(vectors[text] @ vectors[sentence]) for text in texts]
    return [max(each[len(parts) :]), max(each[: len(parts)])]


def _parts(text: str, language: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text, language)]


def _chunks(parts: Sequence[str]) -> Iterator[str]:
    chunk = ""
    for part in parts:
        if chunk and len(chunk) + len(part) > _LONGEST:
            yield chunk
            chunk = ""
        chunk = f"{chunk} {part}" if chunk else part
    if chunk:
        yield chunk
