"""Score whether evidence supports a sentence: lexically, with a small head, or with a model of entailment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

import numpy as np

from convqa.models.engines import load_once
from convqa.models.folder import SUPPORT, ModelFolder
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.kinds.heads import LEXICAL, HeadSettings, Line, Rows, load_head, parts_of, score_nonblank, vectors_of
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Array, Choice, Model, Network, Options, Pair, Tokenizer
from convqa.text.sentences import sentences
from convqa.text.support import CAP, IDENTITY, lexical_support, overlap

SHARE = "share"
FEATURES = (SHARE, "pairs", "numbers", "near numbers", "names", "near names", "opposed", "cosine", "nearest")
"""Fields of :class:`convqa.text.support.Overlap`, with ``near`` of the two adjacent sentences of the evidence that
match best; the cosine with the ``nearest`` sentence, and with the nearest piece of the evidence (``cosine``). There is
no feature for length, because the training data has hardly any short unsupported sentences."""

_LONGEST = 1000
"""Maximum characters of a piece of evidence with a vector of its own."""

Scores = Callable[[Sequence[Pair], str], Sequence[float]]
"""Nonblank pairs of evidence and sentence, and their language -> scores, in order."""


class Settings(HeadSettings, Line, frozen=True):
    """A logistic regression over an encoder's vectors and words."""


class Support(Model):
    """Scores how likely evidence supports a sentence, 0 to 1; from .5 on the sentence is supported. Thread-safe."""

    def __init__(self, name: str, checksum: str, runs: str, scores: Scores) -> None:
        super().__init__(name, checksum, runs)
        self._scores = scores

    def score(self, pairs: Sequence[Pair], language: str = "en") -> list[float]:
        """Return one score per pair (evidence, sentence), 0 if either is blank.

        :raises InputError: if the language has no analysis, which only models of entailment do without.
        :raises WorkError: if the model returns invalid numbers.
        """
        scores = score_nonblank(pairs, lambda nonblank: self._scores(nonblank, language), 0.0)
        if not all(0 <= score <= 1 for score in scores):
            raise self.invalid("support check")
        return scores


def load_support(name: str = SUPPORT, options: Options = Options()) -> Support:  # noqa: B008 - frozen
    """Load a support check, once per process.

    :param name: ``lexical``, which uses no model; ``support``, which ships; or a folder or Hugging Face name of another
        such head or of a model of entailment (NLI).
    :raises InputError: if the model is unknown, damaged, of another kind, or cannot run with these options.
    """
    if name == LEXICAL:
        return Support(LEXICAL, IDENTITY, "no model", _lexical)
    folder = find_model(name)
    if folder.manifest is None:
        return load_once(SUPPORT, folder, options, _entailment)
    return once((SUPPORT, folder.path, folder.checksum(), options), lambda: _head(folder, options))


def _lexical(pairs: Sequence[Pair], language: str) -> Sequence[float]:
    return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]


def _head(folder: ModelFolder, options: Options) -> Support:
    settings, encoder = load_head(SUPPORT, folder, Settings, FEATURES, options)

    def scores(pairs: Sequence[Pair], language: str) -> Sequence[float]:
        return judged(features(encoder, pairs, language), settings).tolist()  # type: ignore[no-any-return]

    return Support(folder.name, folder.checksum(), str(encoder.runs), scores)


def _entailment(folder: ModelFolder, choice: Choice, network: Network) -> Support:
    """Score with the evidence as premise and the sentence as hypothesis; of long evidence, the best window counts."""

    def scores(pairs: Sequence[Pair], language: str) -> Sequence[float]:
        windows = [_windows(pair, network.tokenizer, language) for pair in pairs]
        outputs = network.run(network.tokenizer.pairs(list(chain.from_iterable(windows))))
        ends = np.cumsum(list(map(len, windows)))
        return [float(max(scores)) for scores in np.split(np.stack([score for (score,) in outputs]), ends[:-1])]

    return Support(folder.name, folder.checksum(), str(choice), scores)


def _windows(pair: Pair, tokenizer: Tokenizer, language: str) -> list[Pair]:
    """Return the pair if it fits, else pairs with windows of whole sentences of the evidence.

    Each window begins with the last sentence of the previous one. A sentence that does not fit alone is truncated.
    """
    evidence, sentence = pair
    room = max(tokenizer.max_tokens - len(tokenizer.texts([sentence])[0]), tokenizer.max_tokens // 2)
    spans = sentences(evidence, language)
    if len(spans) < 2:
        return [pair]
    sizes = [len(tokens) for tokens in tokenizer.texts([evidence[start:end] for start, end in spans])]
    windows, first = [], 0
    while True:
        last = first + 1
        while last < len(sizes) and sum(sizes[first : last + 1]) <= room:
            last += 1
        windows.append((evidence[spans[first][0] : spans[last - 1][1]], sentence))
        if last == len(sizes):
            return windows
        first = max(last - 1, first + 1)


def judged(rows: Rows, line: Line) -> Rows:
    """Return the probabilities, at most ``CAP`` if the evidence has no word of the sentence."""
    scores = line.probabilities(rows, FEATURES)
    return np.where(rows[:, FEATURES.index(SHARE)] > 0, scores, np.minimum(scores, CAP))


def features(encoder: TextEncoder, pairs: Sequence[Pair], language: str = "en") -> Rows:
    """Return the features of each pair, in order.

    :raises InputError: if the language has no analysis.
    """
    evidence = {text: parts_of(text, language) for text, _ in pairs}
    texts = {text: [*parts, *_chunks(parts)] for text, parts in evidence.items()}
    vectors = vectors_of(encoder, [*chain.from_iterable(texts.values()), *(sentence for _, sentence in pairs)])
    rows = [
        _overlaps(text, sentence, evidence[text], language) + _cosines(sentence, evidence[text], texts[text], vectors)
        for text, sentence in pairs
    ]
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(FEATURES))


def _overlaps(evidence: str, sentence: str, parts: Sequence[str], language: str) -> list[float]:
    whole = overlap(evidence, sentence, language)
    windows = ["\n".join(pair) for pair in pairwise(parts)] or list(parts)
    near = max((overlap(window, sentence, language) for window in windows), default=whole)
    return [whole.share, whole.pairs, whole.numbers, near.numbers, whole.names, near.names, float(whole.opposed)]


def _cosines(sentence: str, parts: Sequence[str], texts: Sequence[str], vectors: Mapping[str, Array]) -> list[float]:
    """Return the cosines with the nearest piece and the nearest sentence, 0 without evidence."""
    if not texts:
        return [0.0, 0.0]
    cosines = [float(vectors[text] @ vectors[sentence]) for text in texts]
    return [max(cosines[len(parts) :]), max(cosines[: len(parts)])]


def _chunks(parts: Sequence[str]) -> Iterator[str]:
    chunk = ""
    for part in parts:
        if chunk and len(chunk) + len(part) > _LONGEST:
            yield chunk
            chunk = ""
        chunk = f"{chunk} {part}" if chunk else part
    if chunk:
        yield chunk
