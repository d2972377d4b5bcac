"""Score whether evidence supports a sentence: lexically, or with a model of entailment."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.models.engines import load_once
from convqa.models.types import Model, NetworkModel, Options, Pair
from convqa.text.support import IDENTITY, lexical_support

LEXICAL = "lexical"
"""The name of the check by words alone, which uses no model."""


class Support(Model):
    """Scores how likely evidence supports a sentence, 0 to 1; from .5 on the sentence is supported. Thread-safe.

    This one compares words.
    """

    def score(self, pairs: Sequence[Pair], language: str = "en") -> list[float]:
        """Return one score per pair (evidence, sentence), 0 if either is blank.

        :raises InputError: if the language has no analysis, which only models of entailment do without.
        :raises WorkError: if the model returns invalid numbers.
        """
        return [lexical_support(evidence, sentence, language) for evidence, sentence in pairs]


class Entailment(NetworkModel, Support):
    """Scores with the evidence as premise and the sentence as hypothesis; long evidence is truncated."""

    def score(self, pairs: Sequence[Pair], language: str = "en") -> list[float]:  # noqa: ARG002
        sequences = self._network.tokenizer.pairs(pairs)
        scores = []
        for pair, (probability,) in zip(pairs, self.outputs(sequences), strict=True):
            evidence, sentence = pair
            is_blank = not evidence.strip() or not sentence.strip()
            scores.append(0.0 if is_blank else float(probability))
        return scores


def load_support(name: str, options: Options = Options()) -> Support:  # noqa: B008 - frozen
    """Load a support check, once per process.

    :param name: ``lexical``, which uses no model, or a folder or Hugging Face name of a model of entailment (NLI).
    :raises InputError: if the model is unknown, damaged, of another kind, or cannot run with these options.
    """
    if name == LEXICAL:
        return Support(LEXICAL, IDENTITY, "no model")
    return load_once("support", name, options, Entailment)
