"""Support scorers by name: whether evidence supports a sentence, by words, a small model or entailment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from convqa.errors import InputError, WorkError
from convqa.models.engines import load_once
from convqa.models.folder import SUPPORT, ModelFolder
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.kinds.heads import HeadSettings, Number, Rows, load_head, parts_of, probabilities, vectors_of
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.tokens import Tokenizer
from convqa.models.types import Array, Choice, Model, Network, Options, Pair
from convqa.text.sentences import sentences
from convqa.text.support import CAP, IDENTITY, lexical_support, overlap

LEXICAL = "lexical"
SHARE = "share"
FEATURES = (SHARE, "pairs", "numbers", "near numbers", "names", "near names", "opposed", "cosine", "nearest")
"""Those of :class:`convqa.text.support.Overlap`; ``near``: in the two neighbouring sentences of the evidence that have
most of the sentence. ``cosine``: of the sentence and the evidence, ``nearest``: and the nearest sentence of it.
None says how long the sentence is: what trains has hardly a short one that is not supported."""

_LONGEST = 1000
"""Characters of evidence that become one vector; of several the nearest counts."""

Scores = Callable[[Sequence[Pair], str], Sequence[float]]
"""Pairs of evidence and sentence, both with something in them, and their language -> a number each, in order."""


class Settings(HeadSettings, frozen=True):
    """A logistic regression over an encoder's vectors and words. ``weights``: feature -> weight."""

    weights: dict[str, Number]
    offset: Number

    @property
    def weights_of_lines(self) -> list[dict[str, Number]]:
        return [self.weights]


class Support(Model):
    """How likely evidence supports a sentence, 0 to 1: from .5 on it is taken to. Safe to call from several threads.

    ``identity``: what of it a run's fingerprint holds; two that have the same give the same scores.
    """

    def __init__(self, name: str, checksum: str, runs: str, scores: Scores) -> None:
        super().__init__(name, checksum, runs)
        self._scores = scores

    def score(self, pairs: Sequence[Pair], language: str = "en") -> list[float]:
        """One score for each pair (evidence text, sentence), in order; 0 where either is blank.

        :raises InputError: for a language without an analysis, which all but models of entailment need.
        :raises WorkError: if the model makes something that is no score.
        """
        there = [place for place, (evidence, sentence) in enumerate(pairs) if evidence.strip() and sentence.strip()]
        found = [0.0] * len(pairs)
        made = self._scores([pairs[place] for place in there], language) if there else []
        for place, score in zip(there, made, strict=True):
            if not 0 <= score <= 1:
                raise WorkError(f"the support check {self.name!r} made no score; try: convqa models check {self.name}")
            found[place] = float(score)
        return found


def load_support(name: str = SUPPORT, options: Options = Options()) -> Support:  # noqa: B008 - frozen
    """The support check of that name, loaded once per process.

    :param name: ``lexical``, which asks no model; ``support``, which ships; or a folder or a Hugging Face name, of
        another such head or of a model of entailment (NLI) for transformers.
    :raises InputError: if there is none, if it is damaged, no such model, or cannot be run as the options ask.
    """
    if name == LEXICAL:
        return Support(LEXICAL, IDENTITY, "no model", _lexical)
    folder = find_model(name)
    if folder.manifest is None:
        return load_once(SUPPORT, folder, options, _entailment)
    if folder.manifest.kind != SUPPORT:
        raise InputError(
            f"{folder.path} holds a model of kind {folder.manifest.kind!r}; wanted one of kind {SUPPORT!r}, a model of "
            f"entailment as transformers has it, or {LEXICAL}."
        )
    return once((SUPPORT, folder.path, folder.checksum(), options), lambda: _head(folder, options))


def _lexical(pairs: Sequence[Pair], language: str) -> Sequence[float]:
    return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]


def _head(folder: ModelFolder, options: Options) -> Support:
    settings, encoder = load_head(folder, Settings, FEATURES, options)
    weights = np.array([settings.weights[feature] for feature in FEATURES])

    def scores(pairs: Sequence[Pair], language: str) -> Sequence[float]:
        return [float(one) for one in judged(features(encoder, pairs, language), weights, settings.offset)]

    return Support(folder.name, folder.checksum(), str(encoder.runs), scores)


def _entailment(folder: ModelFolder, choice: Choice, network: Network) -> Support:
    """The evidence is the premise, the sentence the hypothesis; of the windows of long evidence the highest counts."""

    def scores(pairs: Sequence[Pair], language: str) -> Sequence[float]:
        windows = [_windows(pair, network.tokenizer, language) for pair in pairs]
        made = network.run(network.tokenizer.pairs([window for some in windows for window in some]))
        ends = np.cumsum([len(some) for some in windows])
        return [float(max(each)) for each in np.split(np.stack([score for (score,) in made]), ends[:-1])]

    return Support(folder.name, folder.checksum(), str(choice), scores)


def _windows(pair: Pair, tokenizer: Tokenizer, language: str) -> list[Pair]:
    """The pair itself if it fits; else with as many whole sentences of the evidence as do, each window from the last
    sentence of the one before on. A sentence that does not fit alone is cut.
    """
    evidence, sentence = pair
    room = max(tokenizer.max_tokens - len(tokenizer.texts([sentence])[0]), tokenizer.max_tokens // 2)
    places = sentences(evidence, language)
    if len(places) < 2:
        return [pair]
    sizes = [len(tokens) for tokens in tokenizer.texts([evidence[start:end] for start, end in places])]
    windows, first = [], 0
    while True:
        last = first + 1
        while last < len(sizes) and sum(sizes[first : last + 1]) <= room:
            last += 1
        windows.append((evidence[places[first][0] : places[last - 1][1]], sentence))
        if last == len(sizes):
            return windows
        first = max(last - 1, first + 1)


def judged(rows: Rows, weights: Rows, offset: float) -> Rows:
    """The probabilities; at most ``CAP`` where the evidence has no word of the sentence, whatever else is alike."""
    made = probabilities(rows, weights, offset)
    return np.where(rows[:, FEATURES.index(SHARE)] > 0, made, np.minimum(made, CAP))


def features(encoder: TextEncoder, pairs: Sequence[Pair], language: str = "en") -> Rows:
    """The features of each pair, in order.

    :raises InputError: for a language without an analysis.
    """
    evidence = {text: parts_of(text, language) for text, _ in pairs}
    texts = {text: [*parts, *_chunks(parts)] for text, parts in evidence.items()}
    vectors = vectors_of(encoder, [*(text for some in texts.values() for text in some), *(said for _, said in pairs)])
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


def _cosines(sentence: str, parts: Sequence[str], texts: Sequence[str], vectors: Mapping[str, Array]) -> list[float]:
    """The cosines to the nearest piece and to the nearest sentence; 0 without evidence."""
    if not texts:
        return [0.0, 0.0]
    each = [float(vectors[text] @ vectors[sentence]) for text in texts]
    return [max(each[len(parts) :]), max(each[: len(parts)])]


def _chunks(parts: Sequence[str]) -> Iterator[str]:
    chunk = ""
    for part in parts:
        if chunk and len(chunk) + len(part) > _LONGEST:
            yield chunk
            chunk = ""
        chunk = f"{chunk} {part}" if chunk else part
    if chunk:
        yield chunk
