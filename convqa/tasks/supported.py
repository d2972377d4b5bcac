"""Whether what a run cites supports what it says: ALCE's measures by a scorer of support, for every task."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.domain import DEFAULT_LANGUAGE
from convqa.metrics import alce
from convqa.metrics.alce import CitedSentence
from convqa.tasks.scores import SUPPORTED, Measure, Supports


def alce_measures(support: Supports) -> tuple[Measure, Measure]:
    """Citation recall, and precision beside it."""
    recall = f"ALCE-R({support.name})"
    return Measure(recall), Measure(f"ALCE-P({support.name})", beside=recall, label="precision")


def supported(
    sentences: Sequence[CitedSentence], support: Supports, language: str = DEFAULT_LANGUAGE
) -> dict[str, float]:
    """The scores of an answer's sentences by measure; none without a sentence."""

    def entails(premise: str, claim: str) -> bool:
        return support.score([(premise, claim)], language)[0] >= SUPPORTED

    scores = alce.of_sentences(sentences, entails)
    names = (measure.name for measure in alce_measures(support))
    return {} if scores is None else dict(zip(names, scores, strict=True))
