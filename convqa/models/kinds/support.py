"""Score how likely evidence supports a sentence, with a model of entailment."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.models.engines import load_once
from convqa.models.types import NetworkModel, Options, Pair


class Support(NetworkModel):
    """Scores how likely evidence supports a sentence, 0 to 1; from .5 on the sentence is supported. Thread-safe.

    The evidence is the model's premise and the sentence its hypothesis; long evidence is truncated.
    """

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return one score per pair (evidence, sentence), 0 if either is blank.

        :raises WorkError: if the model returns invalid numbers.
        """
        sequences = self._network.tokenizer.pairs(pairs)
        scores = []
        for pair, (probability,) in zip(pairs, self.outputs(sequences), strict=True):
            evidence, sentence = pair
            is_blank = not evidence.strip() or not sentence.strip()
            scores.append(0.0 if is_blank else float(probability))
        return scores


def load_support(name: str, options: Options = Options()) -> Support:  # noqa: B008 - frozen
    """Load a model of entailment (NLI), once per process.

    :param name: a folder or Hugging Face name.
    :raises InputError: if the model is unknown, damaged, of another kind, or cannot run with these options.
    """
    return load_once("support", name, options, Support)
