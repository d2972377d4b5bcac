"""Score whether evidence supports a sentence: lexically, with a small head, or with a model of entailment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from convqa.models.engines import load_once
from convqa.models.folder import SUPPORT, ModelFolder
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.kinds.heads import (
    LEXICAL,
    HeadSettings,
    LogisticRegression,
    Rows,
    load_head,
    parts_of,
    score_nonblank,
    vectors_of,
)
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Model, Network, Options, Pair, Tokenizer
from convqa.text.sentences import sentences
from convqa.text.support import CAP, IDENTITY, lexical_support, overlap

SHARE = "share"
FEATURES = (
    SHARE,
    "pairs",
    "numbers",
    "near numbers",
    "names",
    "near names",
    "opposed",
    "cosine",
    "nearest",
)
"""Fields of :class:`convqa.text.support.Overlap`, with ``near`` of the two adjacent sentences of the evidence that
match best; the cosine with the ``nearest`` sentence, and with the nearest piece of the evidence (``cosine``). There is
no feature for length, because the training data has hardly any short unsupported sentences."""

_MAX_PIECE_CHARS = 1000
"""Maximum characters of a piece of evidence with a vector of its own."""

SupportScorer = Callable[[Sequence[Pair], str], Sequence[float]]
"""Nonblank pairs of evidence and sentence, and their language -> scores, in order."""


class SupportHead(HeadSettings, LogisticRegression, frozen=True):
    """A logistic regression over an encoder's vectors and words."""


class Support(Model):
    """Scores how likely evidence supports a sentence, 0 to 1; from .5 on the sentence is supported. Thread-safe."""

    def __init__(
        self,
        name: str,
        checksum: str,
        runs: str,
        scorer: SupportScorer,
    ) -> None:
        super().__init__(name, checksum, runs)
        self._scorer = scorer

    def score(self, pairs: Sequence[Pair], language: str = "en") -> list[float]:
        """Return one score per pair (evidence, sentence), 0 if either is blank.

        :raises InputError: if the language has no analysis, which only models of entailment do without.
        :raises WorkError: if the model returns invalid numbers.
        """
        scores = score_nonblank(
            pairs,
            lambda nonblank: self._scorer(nonblank, language),
            0.0,
        )
        if not all(0 <= score <= 1 for score in scores):
            raise self.invalid("support check")
        return scores

    def try_texts(self, texts: Sequence[str]) -> None:
        self.score([(text, text[:60]) for text in texts])


def load_support(name: str = SUPPORT, options: Options = Options()) -> Support:  # noqa: B008 - frozen
    """Load a support check, once per process.

    :param name: ``lexical``, which uses no model; ``support``, which ships; or a folder or Hugging Face name of another
        such head or of a model of entailment (NLI).
    :raises InputError: if the model is unknown, damaged, of another kind, or cannot run with these options.
    """
    if name == LEXICAL:
        return Support(LEXICAL, IDENTITY, "no model", _score_lexically)
    folder = find_model(name)
    if folder.manifest is None:
        return load_once(SUPPORT, folder, options, _load_entailment)
    return once((SUPPORT, folder.path, folder.checksum(), options), lambda: _load_support_head(folder, options))


def _score_lexically(pairs: Sequence[Pair], language: str) -> list[float]:
    return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]


def _load_support_head(folder: ModelFolder, options: Options) -> Support:
    head, encoder = load_head(SUPPORT, folder, SupportHead, FEATURES, options)

    def score(pairs: Sequence[Pair], language: str) -> list[float]:
        scores: list[float] = judged(features(encoder, pairs, language), head).tolist()
        return scores

    return Support(
        folder.name,
        folder.checksum(),
        str(encoder.runs),
        score,
    )


def _load_entailment(
    folder: ModelFolder,
    choice: Choice,
    network: Network,
) -> Support:
    """Score with the evidence as premise and the sentence as hypothesis; of long evidence, the best window counts."""

    def score(pairs: Sequence[Pair], language: str) -> list[float]:
        windows: list[Pair] = []
        ends = []
        for pair in pairs:
            windows += _windows(pair, network.tokenizer, language)
            ends.append(len(windows))
        outputs = network.run(network.tokenizer.pairs(windows))
        probabilities = [float(probability) for (probability,) in outputs]
        return [max(probabilities[start:end]) for start, end in pairwise([0, *ends])]

    return Support(
        folder.name,
        folder.checksum(),
        str(choice),
        score,
    )


def _windows(pair: Pair, tokenizer: Tokenizer, language: str) -> list[Pair]:
    """Return the pair if it fits, else pairs with windows of whole sentences of the evidence.

    Each window begins with the last sentence of the previous one. A sentence that does not fit alone is truncated.
    """
    evidence, sentence = pair
    spans = sentences(evidence, language)
    if len(spans) < 2:
        return [pair]
    room = max(tokenizer.max_tokens - len(tokenizer.texts([sentence])[0]), tokenizer.max_tokens // 2)
    sizes = [len(tokens) for tokens in tokenizer.texts([evidence[start:end] for start, end in spans])]
    windows = []
    first = 0
    while True:
        last = first + 1
        while last < len(sizes) and sum(sizes[first : last + 1]) <= room:
            last += 1
        start = spans[first][0]
        end = spans[last - 1][1]
        windows.append((evidence[start:end], sentence))
        if last == len(sizes):
            return windows
        first = max(last - 1, first + 1)


def judged(rows: Rows, line: LogisticRegression) -> Rows:
    """Return the probabilities, at most ``CAP`` if the evidence has no word of the sentence."""
    scores = line.probabilities(rows, FEATURES)
    shares = rows[:, FEATURES.index(SHARE)]
    return np.where(shares > 0, scores, np.minimum(scores, CAP))


def features(
    encoder: TextEncoder,
    pairs: Sequence[Pair],
    language: str = "en",
) -> Rows:
    """Return the features of each pair, in order.

    :raises InputError: if the language has no analysis.
    """
    parts = {evidence: parts_of(evidence, language) for evidence, _ in pairs}
    pieces = {evidence: list(_pieces(parts[evidence])) for evidence in parts}
    texts = [sentence for _, sentence in pairs]
    for evidence in parts:
        texts += parts[evidence]
        texts += pieces[evidence]
    vectors = vectors_of(encoder, texts)
    rows = []
    for evidence, sentence in pairs:
        cosine = _best_cosine(sentence, pieces[evidence], vectors)
        nearest = _best_cosine(sentence, parts[evidence], vectors)
        rows.append([*_overlaps(evidence, sentence, parts[evidence], language), cosine, nearest])
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(FEATURES))


def _overlaps(
    evidence: str,
    sentence: str,
    parts: Sequence[str],
    language: str,
) -> list[float]:
    whole = overlap(evidence, sentence, language)
    windows = ["\n".join(pair) for pair in pairwise(parts)] or parts
    near = max((overlap(window, sentence, language) for window in windows), default=whole)
    return [
        whole.share,
        whole.pairs,
        whole.numbers,
        near.numbers,
        whole.names,
        near.names,
        float(whole.opposed),
    ]


def _best_cosine(sentence: str, texts: Sequence[str], vectors: Mapping[str, Array]) -> float:
    """Return the cosine with the nearest text, 0 without any."""
    return max((float(vectors[text] @ vectors[sentence]) for text in texts), default=0.0)


def _pieces(parts: Sequence[str]) -> Iterator[str]:
    """Join sentences into pieces of the evidence."""
    piece = ""
    for part in parts:
        if piece and len(piece) + len(part) > _MAX_PIECE_CHARS:
            yield piece
            piece = ""
        piece = f"{piece} {part}" if piece else part
    if piece:
        yield piece
