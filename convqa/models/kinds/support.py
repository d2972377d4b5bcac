"""Score whether evidence supports a sentence: lexically, or with a model of entailment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from convqa.models.engines import load_once
from convqa.models.folder import SUPPORT, ModelFolder
from convqa.models.kinds.heads import LEXICAL, score_nonblank
from convqa.models.source import find_model
from convqa.models.types import Choice, Model, Network, Options, Pair, Tokenizer
from convqa.text.sentences import sentences
from convqa.text.support import IDENTITY, lexical_support

SupportScorer = Callable[[Sequence[Pair], str], Sequence[float]]
"""Nonblank pairs of evidence and sentence, and their language -> scores, in order."""


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


def load_support(name: str, options: Options = Options()) -> Support:  # noqa: B008 - frozen
    """Load a support check, once per process.

    :param name: ``lexical``, which uses no model, or a folder or Hugging Face name of a model of entailment (NLI).
    :raises InputError: if the model is unknown, damaged, of another kind, or cannot run with these options.
    """
    if name == LEXICAL:
        return Support(LEXICAL, IDENTITY, "no model", _score_lexically)
    return load_once(SUPPORT, find_model(name), options, _load_entailment)


def _score_lexically(pairs: Sequence[Pair], language: str) -> list[float]:
    return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]


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
